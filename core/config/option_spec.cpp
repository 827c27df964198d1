#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "config/schema.hpp"
#include "config/toml.hpp"

namespace switchyard {
namespace {

bool is_integer_type(std::uint32_t type) { return type == SY_T_I64 || type == SY_T_I64S; }

/// "" or an ending such as " from 1 to 64", " of 0 or more", " above 0".
std::string range_text(const OptionSpec& spec) {
  if (spec.min > spec.max) return "";
  auto number = [&](double bound) {
    bool whole = is_integer_type(spec.type) && std::fabs(bound) < 9e18;
    return write_toml_value(whole ? Value(static_cast<std::int64_t>(bound)) : Value(bound));
  };
  bool no_floor = spec.min<-9e18, no_ceiling = spec.max> 9e18;
  if (no_floor && no_ceiling) return "";
  if (no_floor) return " of at most " + number(spec.max);
  // The smallest positive doubles are how a plugin says "above zero".
  bool above_zero = spec.min > 0 && spec.min <= std::numeric_limits<double>::min();
  if (no_ceiling) return above_zero ? " above 0" : " of " + number(spec.min) + " or more";
  if (above_zero) return " above 0 and up to " + number(spec.max);
  return " from " + number(spec.min) + " to " + number(spec.max);
}

std::string words_text(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += "\"" + words[i] + "\"";
  }
  return text;
}

}  // namespace

OptionSpec OptionSpec::from(const sy_option& option) {
  sy_option full{};
  std::uint32_t size = std::min<std::uint32_t>(option.size, sizeof full);
  if (size < offsetof(sy_option, help) + sizeof full.help)
    throw Error(SY_E_ABI, "sy_option of " + std::to_string(size) + " bytes, at least " +
                              std::to_string(offsetof(sy_option, help) + sizeof full.help) + " were expected");
  std::memcpy(&full, &option, size);
  if (!full.key || !*full.key) throw Error(SY_E_ABI, "an option without a key");
  if (full.type < SY_T_BOOL || full.type > SY_T_STRS)
    throw Error(SY_E_ABI, std::string("option '") + full.key + "' has the unknown type " + std::to_string(full.type));
  OptionSpec spec;
  spec.key = full.key;
  spec.type = full.type;
  if (full.fallback) spec.fallback = full.fallback;
  spec.min = full.min;
  spec.max = full.max;
  for (const char* const* word = full.choices; word && *word; ++word) spec.choices.emplace_back(*word);
  spec.unit = full.unit ? full.unit : "";
  spec.help = full.help ? full.help : "";
  return spec;
}

std::string wanted_text(const OptionSpec& spec) {
  std::string words = words_text(spec.choices);
  std::string or_words = words.empty() ? "" : ", or " + words;
  std::string range = range_text(spec);
  switch (spec.type) {
    case SY_T_BOOL:
      return "true or false";
    case SY_T_I64:
      return "an integer" + range + or_words;
    case SY_T_F64:
      return "a float" + range + or_words;
    case SY_T_STR:
      return words.empty() ? "a string" : words;
    case SY_T_I64S:
      return "a list of integers" + (range.empty() ? "" : ", each" + range) + or_words;
    case SY_T_F64S:
      return "a list of floats" + (range.empty() ? "" : ", each" + range) + or_words;
    case SY_T_STRS:
      return "a list of strings" + (words.empty() ? "" : " out of " + words);
    case T_TABLE:
      return "a table";
    case T_ANY:
      return spec.wanted;
    default:
      return "an option of the unknown type " + std::to_string(spec.type);
  }
}

}  // namespace switchyard
