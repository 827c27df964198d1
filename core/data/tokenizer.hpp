// Text to token ids and back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard {

/// [any] after creation. decode(encode(x)) == x for every string of bytes, UTF-8 or not.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  /// Ids are 0 .. vocabulary() - 1.
  virtual std::int64_t vocabulary() const = 0;
  virtual std::vector<std::int64_t> encode(std::string_view text) const = 0;
  /// Error SY_E_DATA with id and limit: an id out of range.
  virtual std::string decode(std::span<const std::int64_t> ids) const = 0;
};

/// "bytes": every byte is a token, its value the id. Error SY_E_CONFIG: another name.
std::unique_ptr<Tokenizer> make_tokenizer(const std::string& name);

}  // namespace switchyard
