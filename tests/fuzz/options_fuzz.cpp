// Options of a plugin that publishes one of each type, as a user's TOML gives them: checked and read, or refused.
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "config/toml.hpp"
#include "plugin/host.hpp"
#include "plugin/options.hpp"

namespace {

using namespace switchyard;

volatile std::size_t total = 0;  // so that texts are read
const char* const words[] = {"relu", "gelu", nullptr};

sy_option option(uint32_t type, const char* key, const char* fallback, const char* const* choices = nullptr) {
  return {sizeof(sy_option), type, key, fallback, 1, 0, choices, nullptr, "help"};
}

const sy_option list[] = {option(SY_T_BOOL, "bias", "true"),      option(SY_T_I64, "width", "1"),
                          option(SY_T_F64, "eps", "1e-5"),        option(SY_T_STR, "act", "\"relu\"", words),
                          option(SY_T_I64S, "shape", "[1, 2]"),   option(SY_T_F64S, "betas", "[0.9, 0.99]"),
                          option(SY_T_STRS, "names", "[]")};

/// Everything as a plugin may ask for it, of the right type or not.
void read_all(const sy_config& config) {
  const sy_host& host = *host_table();
  for (const sy_option& o : list) {
    int32_t flag = 0;
    int64_t whole = 0;
    double real = 0;
    const char* text = "";
    uint32_t items = 0;
    host.cfg_bool(&config, o.key, &flag, nullptr);
    host.cfg_i64(&config, o.key, &whole, nullptr);
    host.cfg_f64(&config, o.key, &real, nullptr);
    host.cfg_str(&config, o.key, &text, nullptr);
    host.cfg_count(&config, o.key, &items, nullptr);
    for (uint32_t i = 0; i <= items && i < 100; ++i) {
      host.cfg_i64_at(&config, o.key, i, &whole, nullptr);
      host.cfg_f64_at(&config, o.key, i, &real, nullptr);
      if (host.cfg_str_at(&config, o.key, i, &text, nullptr) == SY_OK) total = total + std::strlen(text);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t count) {
  const sy_option* all[std::size(list)];
  for (std::size_t i = 0; i < std::size(list); ++i) all[i] = &list[i];
  try {
    ErrorList errors;
    const sy_config config{check_options(parse_toml(std::string(reinterpret_cast<const char*>(data), count), "f"),
                                         options_of(all, std::size(list)), errors, "")};
    errors.raise();
    read_all(config);
  } catch (const Error&) {
  }
  return 0;
}
