#include "config/value.hpp"

#include <algorithm>

namespace switchyard {

Value::Value() : data_(Table{}) {}
Value::Value(bool value) : data_(value) {}
Value::Value(int value) : data_(std::int64_t{value}) {}
Value::Value(std::int64_t value) : data_(value) {}
Value::Value(double value) : data_(value) {}
Value::Value(const char* value) : data_(std::string(value)) {}
Value::Value(std::string value) : data_(std::move(value)) {}
Value::Value(Date value) : data_(std::move(value)) {}
Value::Value(Array value) : data_(std::move(value)) {}
Value::Value(Table value) : data_(std::move(value)) {}

const char* kind_name(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::boolean:
      return "a boolean";
    case Value::Kind::integer:
      return "an integer";
    case Value::Kind::real:
      return "a float";
    case Value::Kind::string:
      return "a string";
    case Value::Kind::date:
      return "a date";
    case Value::Kind::array:
      return "an array";
    case Value::Kind::table:
      return "a table";
  }
  return "";
}

namespace {

template <class T, class Data>
auto& as(Data& data, const Value& self, Value::Kind wanted) {
  if (auto* held = std::get_if<T>(&data)) return *held;
  throw Error(SY_E_INTERNAL, self.place,
              std::string("value read as ") + kind_name(wanted) + " is " + kind_name(self.kind()));
}

}  // namespace

bool Value::boolean() const { return as<bool>(data_, *this, Kind::boolean); }
std::int64_t Value::integer() const { return as<std::int64_t>(data_, *this, Kind::integer); }
double Value::real() const {
  return is(Kind::integer) ? static_cast<double>(integer()) : as<double>(data_, *this, Kind::real);
}
const std::string& Value::string() const { return as<std::string>(data_, *this, Kind::string); }
const std::string& Value::date() const { return as<Date>(data_, *this, Kind::date).text; }
const Value::Array& Value::array() const { return as<Array>(data_, *this, Kind::array); }
Value::Array& Value::array() { return as<Array>(data_, *this, Kind::array); }
const Value::Table& Value::table() const { return as<Table>(data_, *this, Kind::table); }
Value::Table& Value::table() { return as<Table>(data_, *this, Kind::table); }

const Value* Value::find(std::string_view key) const {
  const auto* members = std::get_if<Table>(&data_);
  if (!members) return nullptr;
  auto found = std::find_if(members->begin(), members->end(), [&](const Member& m) { return m.key == key; });
  return found == members->end() ? nullptr : &found->value;
}

Value* Value::find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

Value& Value::set(const std::string& key, Value value) {
  Place where = value.place;
  if (Value* old = find(key)) {
    *old = std::move(value);
    return *old;
  }
  table().push_back({key, std::move(where), std::move(value)});
  return table().back().value;
}

bool Value::Member::operator==(const Member& other) const { return key == other.key && value == other.value; }

bool Value::erase(std::string_view key) {
  return std::erase_if(table(), [&](const Member& m) { return m.key == key; }) > 0;
}

bool Value::operator==(const Value& other) const {
  if (kind() != other.kind()) return false;
  if (!is(Kind::table)) return data_ == other.data_;
  return table().size() == other.table().size() && std::all_of(table().begin(), table().end(), [&](const Member& m) {
           const Value* theirs = other.find(m.key);
           return theirs && *theirs == m.value;
         });
}

std::string on_one_line(const std::string& text) {
  const char* digits = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    auto code = static_cast<unsigned char>(c);
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (code < 0x20 || code == 0x7f)
      out += std::string("\\u00") + digits[code >> 4] + digits[code & 15];
    else
      out += c;
  }
  return out;
}

bool from_set(const Place& place) { return place.line == 0 && place.file.starts_with("--set "); }

}  // namespace switchyard
