#include "check/options_used.hpp"

#include <algorithm>
#include <optional>

#include "check/finding.hpp"
#include "config/toml.hpp"

namespace switchyard::checks {

namespace {

double within(const OptionSpec& option, double x) {
  if (option.min > option.max) return x;
  return std::clamp(x, option.min, option.max);
}

Value number(const OptionSpec& option, double x) {
  x = within(option, x);
  if (option.type == SY_T_I64 || option.type == SY_T_I64S) return Value(static_cast<int64_t>(x));
  return Value(x);
}

Value with(Value table, const std::string& key, const Value& value) {
  table.set(key, value);
  return table;
}

bool changes(const OptionSpec& option, const std::vector<Value>& values, const Value& table, const Face& face) {
  const std::string before = face(table);
  return std::any_of(values.begin(), values.end(),
                     [&](const Value& v) { return face(with(table, option.key, v)) != before; });
}

}  // namespace

Value guess(const OptionSpec& option, std::size_t n) {
  constexpr int64_t sizes[guesses] = {4, 8, 2, 1, 16, 3};
  switch (option.type) {
    case SY_T_BOOL:
      return Value(n % 2 == 0);
    case SY_T_I64:
      return number(option, static_cast<double>(sizes[n % guesses]));
    case SY_T_F64:
      return number(option, 0.5);
    case SY_T_STR:
      return option.choices.empty() ? Value("x") : Value(option.choices[n % option.choices.size()]);
    case SY_T_I64S: {
      const Value size = number(option, static_cast<double>(sizes[n % guesses]));
      return Value(Value::Array{size, size});
    }
    case SY_T_F64S:
      return Value(Value::Array{number(option, 0.5)});
    default:
      return Value(Value::Array{option.choices.empty() ? Value("x") : Value(option.choices[0])});
  }
}

std::vector<Value> alternatives(const OptionSpec& option, const std::string& named) {
  const std::optional<Value> standard =
      option.fallback && !option.fallback->empty() ? parse_toml_value(*option.fallback, {}) : std::nullopt;
  std::vector<Value> all;
  const auto add = [&](const Value& v) {
    const bool known = (standard && *standard == v) || std::find(all.begin(), all.end(), v) != all.end();
    if (!known) all.push_back(v);
  };
  for (const std::string& choice : option.choices) add(Value(choice));
  const double d = standard && standard->is_number() ? standard->real() : 0;
  switch (option.type) {
    case SY_T_BOOL:
      add(Value(true)), add(Value(false));
      break;
    case SY_T_I64:
      for (const double x : {d + 1, 2 * d, 1.0, 2.0, 4.0, 3.0}) add(number(option, x));
      break;
    case SY_T_F64:
      for (const double x : {d * 0.5, d + 0.25, 0.75, d * 100}) add(number(option, x));
      break;
    case SY_T_STR:
      if (option.choices.empty()) add(Value(named.empty() ? "other" : named));
      break;
    case SY_T_I64S:
      for (const double x : {1.0, 2.0, 3.0}) add(Value(Value::Array{number(option, x)}));
      break;
    case SY_T_F64S:
      add(Value(Value::Array{number(option, 0.75)}));
      break;
    case SY_T_STRS:
      if (!named.empty()) add(Value(Value::Array{Value(named)}));
      break;
    default:
      break;
  }
  return all;
}

void expect_options_used(const std::vector<OptionSpec>& all, const Value& table, const Face& face,
                         const std::string& named) {
  if (all.empty()) throw Skip("it has none");
  for (const OptionSpec& option : all) {
    const std::vector<Value> values = alternatives(option, named);
    bool used = values.empty() || changes(option, values, table, face);
    for (const OptionSpec& other : all)
      for (const Value& v : alternatives(other, named))
        used = used || (other.key != option.key && changes(option, values, with(table, other.key, v), face));
    if (!used)
      throw Fault("the option '" + option.key + "' changes nothing that can be seen", "use it, or publish it no more");
  }
}

}  // namespace switchyard::checks
