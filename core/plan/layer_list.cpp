#include "plan/layer_list.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "config/size.hpp"

namespace switchyard {

namespace {

/// "h.3.attn" is copy 3 of "h".
struct NumberedName {
  std::string stem;
  int copy = -1;  // -1: not numbered
  bool operator==(const NumberedName&) const = default;
};

NumberedName numbered(const std::string& name) {
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    std::size_t end = dot + 1;
    while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
    const bool whole = end > dot + 1 && end - dot < 10 && (end == name.size() || name[end] == '.');
    if (whole) return {name.substr(0, dot), std::stoi(name.substr(dot + 1, end - dot - 1))};
  }
  return {name};
}

/// How to call the end of a range: by the copy's name when all of its layers on that side belong to the range.
std::string end_name(const Model& model, int layer, int neighbour, const NumberedName& copy) {
  const bool inside = neighbour >= 0 && neighbour < static_cast<int>(model.layers().size());
  if (inside && numbered(model.layers()[neighbour].name) == copy) return model.layers()[layer].name;
  return copy.stem + "." + std::to_string(copy.copy);
}

/// The first layer behind the range of copies that begins with `from`.
int end_of_range(const Model& model, int from, int last) {
  NumberedName at = numbered(model.layers()[from].name);
  int next = from + 1;
  for (; next <= last && at.copy >= 0; ++next) {
    const NumberedName here = numbered(model.layers()[next].name);
    if (here.stem != at.stem || here.copy < at.copy || here.copy > at.copy + 1) break;
    at = here;
  }
  return next;
}

std::string range_name(const Model& model, int from, int to) {
  if (from == to) return model.layers()[from].name;
  const NumberedName first = numbered(model.layers()[from].name), last = numbered(model.layers()[to].name);
  const std::string begin = end_name(model, from, from - 1, first), end = end_name(model, to, to + 1, last);
  return begin == end ? begin : begin + " .. " + end;
}

std::vector<std::string> range_names(const Model& model, int first, int last) {
  std::vector<std::string> names;
  for (int l = first; l <= last;) {
    const int next = end_of_range(model, l, last);
    names.push_back(range_name(model, l, next - 1));
    l = next;
  }
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names.size() > most && i == most / 2) {
      text += ", ...";
      i = names.size() - most / 2;
    }
    text += (text.empty() ? "" : ", ") + names[i];
  }
  return text;
}

}  // namespace

std::string layer_list(const Model& model, int first, int last) { return joined(range_names(model, first, last)); }

std::string layer_list(const Model& model, const std::vector<bool>& chosen) {
  std::vector<std::string> names;
  const int n = static_cast<int>(chosen.size());
  for (int first = 0; first < n; ++first) {
    if (!chosen[first]) continue;
    int last = first;
    while (last + 1 < n && chosen[last + 1]) ++last;
    for (std::string& name : range_names(model, first, last)) names.push_back(std::move(name));
    first = last;
  }
  return joined(names);
}

std::string layers_of_device(const Plan& plan, const Model& model, int device) {
  std::vector<std::string> names;
  for (const Stage& s : plan.stages)
    if (s.device == device)
      for (std::string& name : range_names(model, s.first, s.last)) names.push_back(std::move(name));
  return joined(names);
}

std::string size_text(uint64_t bytes) { return print_size(static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX))); }

std::string percent(double share) { return std::to_string(std::lround(share * 100)) + " %"; }

std::string seconds_text(double s) {
  const double value = s < 1e-3 ? s * 1e6 : s < 1 ? s * 1e3 : s;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s", value < 9.95 ? 1 : 0, value, s < 1e-3 ? "us" : s < 1 ? "ms" : "s");
  return text;
}

int returns_to(const Plan& plan, int device) {
  const auto on =
      std::count_if(plan.stages.begin(), plan.stages.end(), [&](const Stage& s) { return s.device == device; });
  return on > 1 ? static_cast<int>(on) - 1 : 0;  // neighbouring stages are never on one device
}

int hand_overs(const Plan& plan, bool backward) {
  return static_cast<int>(std::count_if(plan.edges.begin(), plan.edges.end(),
                                        [&](const Edge& e) { return e.capacity > 0 && e.backward == backward; }));
}

}  // namespace switchyard
