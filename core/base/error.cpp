#include "base/error.hpp"

namespace switchyard {

std::string Place::prefix() const {
  if (file.empty()) return "";
  if (line <= 0) return file + ": ";
  return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": ";
}

Error& Error::note(const std::string& key, const std::string& value) {
  if (!std::as_const(*this).note(key)) notes_.emplace_back(key, value);
  return *this;
}

const std::string* Error::note(const std::string& key) const {
  for (const auto& [k, v] : notes_)
    if (k == key) return &v;
  return nullptr;
}

void ErrorList::add(const Place& place, const std::string& text) { lines_.push_back(place.prefix() + text); }

void ErrorList::raise(sy_rc code) const {
  if (lines_.empty()) return;
  std::string all;
  for (std::size_t i = 0; i < lines_.size() && i < most; ++i) all += (i ? "\n" : "") + lines_[i];
  if (lines_.size() > most) all += "\nand " + std::to_string(lines_.size() - most) + " more mistakes";
  throw Error(code, all);
}

}  // namespace switchyard
