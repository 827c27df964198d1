#include "store/rename.hpp"

#include <algorithm>
#include <set>

#include "config/pattern.hpp"

namespace switchyard {
namespace {

std::size_t count_stars(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '*'));
}

/// One call of assign_weights.
class Assignment {
 public:
  Assignment(const TensorFiles& files, const std::vector<WantedTensor>& wanted, const WeightMap& map,
             const Place& place)
      : files_(files), wanted_(wanted), map_(map), place_(place), hits_(map.rename.size(), false) {
    for (const std::string& pattern : map.unused) unused_.push_back(Pattern::parse(pattern, place));
  }

  std::map<std::string, TensorPlace> run() {
    check_stars();
    for (const auto& [name, where] : files_.tensors()) take(name, where);
    for (std::size_t i = 0; i < hits_.size(); ++i)
      if (!hits_[i]) mistake("rename '" + map_.rename[i].first + "' matches no tensor of the file (only * is special)");
    std::map<std::string, TensorPlace> result;
    for (const WantedTensor& want : wanted_) give(want, result);
    for (const auto& [ours, taken] : taken_) check_left_over(ours, taken);
    mistakes_.raise(SY_E_CONFIG);
    return result;
  }

 private:
  struct Taken {
    std::string name;  // in the file
    TensorPlace where;
    bool used = false;
  };

  void mistake(const std::string& text) { mistakes_.add(place_, text); }

  void check_stars() {
    for (const auto& [from, to] : map_.rename)
      if (count_stars(from) != count_stars(to))
        mistake("rename '" + from + "' has " + std::to_string(count_stars(from)) + " *, '" + to + "' has " +
                std::to_string(count_stars(to)));
    mistakes_.raise(SY_E_CONFIG);
  }

  void take(const std::string& name, const TensorPlace& where) {
    const std::string ours = our_name(name);
    const auto [at, fresh] = taken_.emplace(ours, Taken{name, where});
    if (!fresh) mistake("the file's '" + at->second.name + "' and '" + name + "' both become '" + ours + "'");
  }

  /// The name after `rename`: an exact entry first, else the patterns, which must agree, else the name itself.
  std::string our_name(const std::string& name) {
    std::optional<std::string> exact, result;
    std::string conflict;
    std::size_t by = 0;
    for (std::size_t i = 0; i < map_.rename.size(); ++i) {
      const auto& [from, to] = map_.rename[i];
      const auto texts = match_stars(from, name);
      if (!texts) continue;
      hits_[i] = true;
      const std::string ours = fill_stars(to, *texts);
      if (from == name)
        exact = ours;
      else if (!result)
        result = ours, by = i;
      else if (*result != ours)
        conflict = "rename '" + map_.rename[by].first + "' and '" + from + "' disagree about '" + name + "': '" +
                   *result + "' or '" + ours + "'";
    }
    if (!exact && !conflict.empty()) mistake(conflict);
    return exact ? *exact : result.value_or(name);
  }

  void give(const WantedTensor& want, std::map<std::string, TensorPlace>& result) {
    const auto at = taken_.find(want.name);
    if (at == taken_.end()) {
      if (!want.optional && !want.name.ends_with("num_batches_tracked"))
        mistake("the file has no '" + want.name + "' " + shape_text(want.shape));
      return;
    }
    at->second.used = true;
    const TensorInfo& found = *at->second.where.tensor;
    const std::string both = "'" + want.name + "'" + origin(want.name, at->second.name) + " ";
    if (found.shape != want.shape)
      mistake(both + "is " + shape_text(found.shape) + " in the file, the model needs " + shape_text(want.shape));
    else if (!(found.dtype == want.dtype) && !(is_float(found.dtype) && is_float(want.dtype)))
      mistake(both + "is " + dtype_name(found.dtype) + " in the file, the model needs " + dtype_name(want.dtype));
    result[want.name] = at->second.where;
  }

  void check_left_over(const std::string& ours, const Taken& taken) {
    if (taken.used || map_.allow_unused) return;
    for (const Pattern& pattern : unused_)
      if (pattern.matches(taken.name)) return;
    const std::string becomes = ours == taken.name ? "" : " (becomes '" + ours + "')";
    mistake("the file's '" + taken.name + "'" + becomes + " " + shape_text(taken.where.tensor->shape) +
            " is no tensor of the model; allow_unused lets it be");
  }

  static std::string origin(const std::string& ours, const std::string& name) {
    return ours == name ? "" : " (the file's '" + name + "')";
  }

  const TensorFiles& files_;
  const std::vector<WantedTensor>& wanted_;
  const WeightMap& map_;
  const Place& place_;
  std::vector<Pattern> unused_;
  std::vector<bool> hits_;              // which entries of rename matched something
  std::map<std::string, Taken> taken_;  // by our name
  ErrorList mistakes_;
};

}  // namespace

std::optional<std::vector<std::string>> match_stars(std::string_view pattern, std::string_view name) {
  std::vector<std::size_t> begins;  // of the texts, in `name`
  std::vector<std::size_t> ends;
  std::size_t p = 0, n = 0, last_star = pattern.npos;
  while (true) {
    if (p < pattern.size() && pattern[p] == '*') {
      last_star = p++;
      begins.push_back(n);
      ends.push_back(n);
    } else if (p < pattern.size() && n < name.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (p == pattern.size() && n == name.size()) {
      break;
    } else if (last_star == pattern.npos || ends.back() == name.size()) {
      return std::nullopt;
    } else {  // the last star takes one character more
      p = last_star + 1;
      n = ++ends.back();
    }
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < begins.size(); ++i) texts.emplace_back(name.substr(begins[i], ends[i] - begins[i]));
  return texts;
}

std::string fill_stars(std::string_view pattern, const std::vector<std::string>& texts) {
  std::string result;
  std::size_t next = 0;
  for (char c : pattern)
    if (c == '*')
      result += texts.at(next++);
    else
      result += c;
  return result;
}

std::map<std::string, TensorPlace> assign_weights(const TensorFiles& files, const std::vector<WantedTensor>& wanted,
                                                  const WeightMap& map, const Place& place) {
  return Assignment(files, wanted, map, place).run();
}

}  // namespace switchyard
