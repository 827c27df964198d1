#include <algorithm>

#include "config/schema.hpp"

namespace switchyard {
namespace {

const std::string none;

Error wrong_type(const std::string& key) {
  return Error(SY_E_ARGUMENT, "option '" + key + "' is read as another type than it was published with");
}

bool is_list(std::uint32_t type) { return type == SY_T_I64S || type == SY_T_F64S || type == SY_T_STRS; }

}  // namespace

const Options::Entry& Options::entry(const std::string& key) const {
  auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.spec.key == key; });
  if (found == entries_.end()) throw Error(SY_E_NOT_FOUND, "no option '" + key + "' was published");
  return *found;
}

bool Options::published(const std::string& key) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.spec.key == key; });
}

bool Options::given(const std::string& key) const { return entry(key).given; }
bool Options::has(const std::string& key) const { return entry(key).value.has_value(); }

const Place& Options::place(const std::string& key) const {
  const Entry& found = entry(key);
  return found.given ? found.value->place : place_;
}

const Value& Options::value(const std::string& key) const {
  const Entry& found = entry(key);
  if (!found.value) throw Error(SY_E_NOT_FOUND, place_, "option '" + key + "' has no value");
  return *found.value;
}

bool Options::boolean(const std::string& key) const {
  const Entry& found = entry(key);
  if (found.spec.type != SY_T_BOOL) throw wrong_type(key);
  return found.value && found.value->boolean();
}

const Value& Options::number(const std::string& key, bool integer_only) const {
  static const Value zero(0);
  const Entry& found = entry(key);
  if (found.spec.type != SY_T_I64 && (integer_only || found.spec.type != SY_T_F64)) throw wrong_type(key);
  if (!found.value) return zero;
  if (!found.value->is_number())
    throw Error(SY_E_STATE, found.value->place, "option '" + key + "' is the word \"" + word(key) + "\", no number");
  return *found.value;
}

std::int64_t Options::i64(const std::string& key) const { return number(key, true).integer(); }
double Options::f64(const std::string& key) const { return number(key, false).real(); }

const std::string& Options::str(const std::string& key) const {
  const Entry& found = entry(key);
  bool word_possible = !found.spec.choices.empty() && found.spec.type != SY_T_STRS;
  if (found.spec.type != SY_T_STR && !word_possible) throw wrong_type(key);
  return found.value && found.value->is(Value::Kind::string) ? found.value->string() : none;
}

const std::string& Options::word(const std::string& key) const {
  const Entry& found = entry(key);
  bool possible = found.spec.type != SY_T_STR && found.spec.type != SY_T_STRS;
  return possible && found.value && found.value->is(Value::Kind::string) ? found.value->string() : none;
}

std::size_t Options::count(const std::string& key) const {
  const Entry& found = entry(key);
  if (!is_list(found.spec.type)) throw wrong_type(key);
  if (!found.value) return 0;
  if (found.value->is(Value::Kind::array)) return found.value->array().size();
  return found.spec.type == SY_T_STRS ? 1 : 0;
}

const Value* Options::item(const std::string& key, std::size_t index, std::uint32_t type,
                           std::uint32_t other_type) const {
  const Entry& found = entry(key);
  if (found.spec.type != type && found.spec.type != other_type) throw wrong_type(key);
  if (index >= count(key))
    throw Error(SY_E_RANGE,
                "option '" + key + "' has " + std::to_string(count(key)) + " items, no item " + std::to_string(index));
  return found.value->is(Value::Kind::array) ? &found.value->array()[index] : &*found.value;
}

std::int64_t Options::i64_at(const std::string& key, std::size_t index) const {
  return item(key, index, SY_T_I64S, SY_T_I64S)->integer();
}

double Options::f64_at(const std::string& key, std::size_t index) const {
  return item(key, index, SY_T_F64S, SY_T_I64S)->real();
}

const std::string& Options::str_at(const std::string& key, std::size_t index) const {
  return item(key, index, SY_T_STRS, SY_T_STRS)->string();
}

std::vector<std::int64_t> Options::i64s(const std::string& key) const {
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < count(key); ++i) all.push_back(i64_at(key, i));
  return all;
}

std::vector<double> Options::f64s(const std::string& key) const {
  std::vector<double> all;
  for (std::size_t i = 0; i < count(key); ++i) all.push_back(f64_at(key, i));
  return all;
}

std::vector<std::string> Options::strs(const std::string& key) const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count(key); ++i) all.push_back(str_at(key, i));
  return all;
}

Value Options::table() const {
  Value out;
  out.place = place_;
  for (const Entry& e : entries_)
    if (e.value) out.set(e.spec.key, *e.value);
  return out;
}

}  // namespace switchyard
