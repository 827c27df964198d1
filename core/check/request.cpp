#include "check/request.hpp"

#include <charconv>

#include "base/dtype.hpp"
#include "config/toml.hpp"

namespace switchyard::checks {

namespace {

int64_t dimension(const std::string& word, const std::string& input) {
  int64_t n = -1;
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), n);
  if (code != std::errc() || end != word.data() + word.size() || n < 1 || n > (1 << 20))
    throw Error(SY_E_CONFIG,
                "--input " + input + ": '" + word + "' is no size; wanted something like 4x8 or 4x6:int64");
  return n;
}

}  // namespace

void Request::add_input(const std::string& text) {
  const std::size_t colon = text.find(':');
  Port port;
  port.dtype = dtype::f32;
  port.differentiable = true;
  if (colon != std::string::npos) {
    const auto named = dtype_from_name(text.substr(colon + 1));
    if (!named)
      throw Error(SY_E_CONFIG, "--input " + text + ": there is no type '" + text.substr(colon + 1) +
                                   "'; known: fp32, fp64, bf16, fp16, int64, int32, int16, int8, uint8, bool");
    port.dtype = *named;
    port.differentiable = is_float(*named);
  }
  const std::string sizes = text.substr(0, colon);
  for (std::size_t begin = 0; begin <= sizes.size();) {
    const std::size_t end = std::min(sizes.find('x', begin), sizes.size());
    port.shape.push_back(dimension(sizes.substr(begin, end - begin), text));
    begin = end + 1;
  }
  if (port.shape.size() > SY_MAX_DIMS) throw Error(SY_E_CONFIG, "--input " + text + ": at most 8 dimensions");
  inputs.push_back(std::move(port));
}

void Request::add_option(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos)
    throw Error(SY_E_CONFIG, "--set " + text + ": wanted KEY=VALUE, such as out=16");
  const std::string value = text.substr(equals + 1);
  const std::optional<Value> parsed = parse_toml_value(value, {"--set " + text, 0, 0});
  options.set(text.substr(0, equals), parsed ? *parsed : Value(value));
}

void Request::set_type(const std::string& text) {
  const auto named = dtype_from_name(text);
  if (!named || !is_float(*named)) throw Error(SY_E_CONFIG, "--type " + text + ": wanted fp64, fp32, bf16 or fp16");
  type = named;
}

}  // namespace switchyard::checks
