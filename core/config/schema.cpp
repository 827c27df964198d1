#include "config/schema.hpp"

#include <algorithm>
#include <cmath>

#include "config/hints.hpp"
#include "config/nearest.hpp"
#include "config/toml.hpp"

namespace switchyard {
namespace {

using Kind = Value::Kind;

std::string found_text(const Value& value) {
  std::string text = kind_name(value.kind());
  if (value.is(Kind::table)) return text;
  std::string content = write_toml_value(value);
  return text + " (" + (content.size() > 60 ? content.substr(0, 57) + "..." : content) + ")";
}

bool in_range(const OptionSpec& spec, const Value& number) {
  if (spec.min > spec.max) return true;
  // long double holds every 64-bit integer.
  long double x = number.is(Kind::integer) ? static_cast<long double>(number.integer()) : number.real();
  return x >= spec.min && x <= spec.max;
}

bool is_choice(const OptionSpec& spec, const Value& value) {
  return value.is(Kind::string) &&
         std::find(spec.choices.begin(), spec.choices.end(), value.string()) != spec.choices.end();
}

/// Makes the value fit the option (an integer becomes a float where one is wanted). False: it does not fit.
bool fit_scalar(const OptionSpec& spec, std::uint32_t type, Value& value) {
  switch (type) {
    case SY_T_BOOL:
      return value.is(Kind::boolean);
    case SY_T_I64:
      return value.is(Kind::integer) && in_range(spec, value);
    case SY_T_F64: {
      if (!value.is_number() || !std::isfinite(value.real()) || !in_range(spec, value)) return false;
      Place place = value.place;
      value = Value(value.real());
      value.place = place;
      return true;
    }
    case SY_T_STR:
      return value.is(Kind::string) && (spec.choices.empty() || is_choice(spec, value));
    case T_TABLE:
      return value.is(Kind::table);
    default:
      return true;
  }
}

std::uint32_t item_type(std::uint32_t list_type) {
  switch (list_type) {
    case SY_T_I64S:
      return SY_T_I64;
    case SY_T_F64S:
      return SY_T_F64;
    case SY_T_STRS:
      return SY_T_STR;
    default:
      return 0;
  }
}

/// The part of the value that does not fit; nullptr: all of it fits.
const Value* misfit(const OptionSpec& spec, Value& value) {
  bool numeric = spec.type == SY_T_I64 || spec.type == SY_T_F64 || spec.type == SY_T_I64S || spec.type == SY_T_F64S;
  if (numeric && is_choice(spec, value)) return nullptr;
  std::uint32_t item = item_type(spec.type);
  if (item == 0) return fit_scalar(spec, spec.type, value) ? nullptr : &value;
  if (spec.type == SY_T_STRS && value.is(Kind::string)) return fit_scalar(spec, item, value) ? nullptr : &value;
  if (!value.is(Kind::array)) return &value;
  for (Value& each : value.array())
    if (!fit_scalar(spec, item, each)) return &each;
  return nullptr;
}

}  // namespace

class OptionsCheck {
 public:
  OptionsCheck(const Value& table, ErrorList& errors, const std::string& where)
      : table_(table), errors_(errors), where_(where) {
    result_.place_ = table.place;
  }

  void option(const OptionSpec& spec) {
    if (result_.published(spec.key)) throw Error(SY_E_ABI, "option '" + spec.key + "' is published twice");
    Options::Entry entry{spec, fallback(spec), false};
    if (const Value* written = table_.find(spec.key))
      take(spec, *written, entry);
    else if (!spec.fallback)
      fail(table_.place,
           spec.key + " is missing; wanted " + wanted_text(spec) + (spec.help.empty() ? "" : ": " + spec.help));
    result_.entries_.push_back(std::move(entry));
  }

  void unknown_keys(const std::vector<std::string>& also_known) {
    std::vector<std::string> known;
    for (const Options::Entry& entry : result_.entries_) known.push_back(entry.spec.key);
    known.insert(known.end(), also_known.begin(), also_known.end());
    for (const Value::Member& member : table_.table())
      if (!result_.published(member.key))
        fail(member.place, write_toml_key(member.key) + ": unknown key" + unknown_key_hint(member.key, known));
  }

  Options result() { return std::move(result_); }

 private:
  void fail(const Place& place, const std::string& text) {
    errors_.add(place, where_ + text);
    result_.sound_ = false;
  }

  std::optional<Value> fallback(const OptionSpec& spec) const {
    if (!spec.fallback || spec.fallback->empty()) return std::nullopt;
    auto value = parse_toml_value(*spec.fallback, {});
    if (!value || misfit(spec, *value))
      throw Error(SY_E_ABI, "option '" + spec.key + "' publishes the default " + *spec.fallback + ", which is not " +
                                wanted_text(spec));
    return value;
  }

  void take(const OptionSpec& spec, const Value& written, Options::Entry& entry) {
    Value value = written;
    if (const Value* wrong = misfit(spec, value)) {
      const Place& place = wrong->place.file.empty() ? written.place : wrong->place;
      fail(place,
           spec.key + ": wanted " + wanted_text(spec) + ", found " + found_text(*wrong) + value_hint(spec, *wrong));
      return;
    }
    entry.value = std::move(value);
    entry.given = true;
  }

  std::string value_hint(const OptionSpec& spec, const Value& wrong) const {
    if (!wrong.is(Kind::string)) return "";
    if (auto hint = foreign_value_hint(where_ + spec.key, wrong.string())) return "; " + *hint;
    auto near = nearest(wrong.string(), spec.choices);
    return near ? "; did you mean \"" + *near + "\"?" : "";
  }

  const Value& table_;
  ErrorList& errors_;
  const std::string& where_;
  Options result_;
};

Options check_options(const Value& table, const std::vector<OptionSpec>& specs, ErrorList& errors,
                      const std::string& where, const std::vector<std::string>& also_known) {
  OptionsCheck check(table, errors, where);
  for (const OptionSpec& spec : specs) check.option(spec);
  check.unknown_keys(also_known);
  return check.result();
}

}  // namespace switchyard
