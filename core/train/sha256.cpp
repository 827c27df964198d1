#include "train/sha256.hpp"

#include <nettle/sha2.h>
#include <nettle/version.h>

#include <cstdint>

namespace switchyard {

std::string sha256(std::span<const std::byte> bytes) {
  sha256_ctx context;
  std::uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_init(&context);
  sha256_update(&context, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
#if NETTLE_VERSION_MAJOR >= 4
  sha256_digest(&context, digest);
#else
  sha256_digest(&context, sizeof digest, digest);
#endif
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace switchyard
