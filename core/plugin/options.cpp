#include "plugin/options.hpp"

#include "plugin/host.hpp"

namespace switchyard {
namespace {

constexpr std::uint32_t most_options = 1024;

/// One getter: `read` may throw; nothing else does.
template <class T, class Read>
sy_rc get(const sy_config* config, const char* key, T* out, sy_error** err, Read read) {
  return guard(err, [&] {
    if (!config || !key || !out)
      throw Error(SY_E_ARGUMENT, "an option is read without a table, a key, or a place for it");
    *out = read(config->options, std::string(key));
  });
}

sy_rc get_bool(const sy_config* c, const char* key, int32_t* out, sy_error** err) {
  return get(c, key, out, err, [](const Options& o, const std::string& k) { return o.boolean(k) ? 1 : 0; });
}
sy_rc get_i64(const sy_config* c, const char* key, int64_t* out, sy_error** err) {
  return get(c, key, out, err, [](const Options& o, const std::string& k) { return o.i64(k); });
}
sy_rc get_f64(const sy_config* c, const char* key, double* out, sy_error** err) {
  return get(c, key, out, err, [](const Options& o, const std::string& k) { return o.f64(k); });
}
sy_rc get_str(const sy_config* c, const char* key, const char** lend, sy_error** err) {
  return get(c, key, lend, err, [](const Options& o, const std::string& k) { return o.str(k).c_str(); });
}
sy_rc get_count(const sy_config* c, const char* key, uint32_t* out, sy_error** err) {
  return get(c, key, out, err,
             [](const Options& o, const std::string& k) { return static_cast<uint32_t>(o.count(k)); });
}
sy_rc get_i64_at(const sy_config* c, const char* key, uint32_t index, int64_t* out, sy_error** err) {
  return get(c, key, out, err, [=](const Options& o, const std::string& k) { return o.i64_at(k, index); });
}
sy_rc get_f64_at(const sy_config* c, const char* key, uint32_t index, double* out, sy_error** err) {
  return get(c, key, out, err, [=](const Options& o, const std::string& k) { return o.f64_at(k, index); });
}
sy_rc get_str_at(const sy_config* c, const char* key, uint32_t index, const char** lend, sy_error** err) {
  return get(c, key, lend, err, [=](const Options& o, const std::string& k) { return o.str_at(k, index).c_str(); });
}
int32_t given(const sy_config* c, const char* key) {
  int32_t is = 0;
  get(c, key, &is, nullptr, [](const Options& o, const std::string& k) { return o.given(k) ? 1 : 0; });
  return is;
}

}  // namespace

std::vector<OptionSpec> options_of(const sy_option* const* options, std::uint32_t count) {
  if (count > most_options) throw Error(SY_E_ABI, "it publishes " + std::to_string(count) + " options");
  if (count > 0 && !options) throw Error(SY_E_ABI, "its list of options is missing");
  std::vector<OptionSpec> all;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!options[i]) throw Error(SY_E_ABI, "option " + std::to_string(i) + " of its list is missing");
    all.push_back(OptionSpec::from(*options[i]));
    for (std::uint32_t k = 0; k < i; ++k)
      if (all[k].key == all[i].key) throw Error(SY_E_ABI, "it publishes the option '" + all[i].key + "' twice");
  }
  return all;
}

void check_defaults(const std::vector<OptionSpec>& options) {
  ErrorList missing;  // required options: not a mistake here
  check_options(Value(), options, missing, "");
}

void fill_option_getters(sy_host& host) {
  host.cfg_bool = get_bool;
  host.cfg_i64 = get_i64;
  host.cfg_f64 = get_f64;
  host.cfg_str = get_str;
  host.cfg_count = get_count;
  host.cfg_i64_at = get_i64_at;
  host.cfg_f64_at = get_f64_at;
  host.cfg_str_at = get_str_at;
  host.cfg_given = given;
}

}  // namespace switchyard
