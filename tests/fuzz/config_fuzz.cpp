// A configuration: it is read, printed and read again as the same, or refused with an Error.
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "config/config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t count) {
  const std::string text(reinterpret_cast<const char*>(data), count);
  std::string printed;
  try {
    printed = switchyard::to_toml(switchyard::parse_config(text, "f.toml"));
  } catch (const switchyard::Error&) {
    return 0;
  }
  if (switchyard::to_toml(switchyard::parse_config(printed, "f.toml")) != printed) std::abort();
  return 0;
}
