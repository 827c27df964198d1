#include "config/reading.hpp"

#include <algorithm>
#include <filesystem>

namespace switchyard {

Options Reading::check(const std::string& name, const Value& table) const {
  return check_options(table, core_table(name).options, errors, name.empty() ? "" : name + ".");
}

std::string Reading::path(const std::string& text, const Place& place) const {
  namespace fs = std::filesystem;
  fs::path base = from_set(place) ? fs::current_path() : fs::path(config.folder);
  return (base / text).lexically_normal().string();
}

void Reading::make_path(Value& value, const std::string& what) const {
  if (value.string().empty()) errors.add(value.place, what + ": the path is empty");
  Value absolute(path(value.string(), value.place));
  absolute.place = value.place;
  value = std::move(absolute);
}

bool Reading::is_texts(const Value& value) {
  if (value.is(Value::Kind::string)) return true;
  return value.is(Value::Kind::array) && std::all_of(value.array().begin(), value.array().end(),
                                                     [](const Value& item) { return item.is(Value::Kind::string); });
}

std::vector<Placed> Reading::texts(const Value& value) {
  std::vector<Placed> all;
  if (value.is(Value::Kind::string)) return {{value.string(), value.place}};
  for (const Value& item : value.array()) all.push_back({item.string(), item.place});
  return all;
}

std::vector<Pattern> Reading::patterns(const Value& value) const {
  std::vector<Pattern> all;
  for (const Placed& text : texts(value)) {
    try {
      all.push_back(Pattern::parse(text.text, text.place));
    } catch (const Error& error) {
      errors.add({}, error.what());  // the place is in the text
    }
  }
  return all;
}

}  // namespace switchyard
