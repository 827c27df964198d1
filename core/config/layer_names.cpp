#include "config/layer_names.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "config/nearest.hpp"

namespace switchyard {
namespace {

constexpr std::size_t most_names_for_hints = 4096;

std::vector<std::string> all_names(const std::vector<LayerEntry>& layers) {
  std::vector<std::string> names;
  for (const LayerEntry& layer : layers) {
    if (names.size() > most_names_for_hints) break;
    names.push_back(layer.name);
    for (const std::string& group : layer.groups)
      if (std::find(names.begin(), names.end(), group) == names.end()) names.push_back(group);
  }
  return names;
}

/// "'h' is repeated" for what has copies h.0, h.1, ...; else the nearest name.
std::string name_hint(const std::vector<LayerEntry>& layers, const std::string& name) {
  int last = -1;
  while (find_layer(layers, name + "." + std::to_string(last + 1)) >= 0) ++last;
  if (last < 0) return did_you_mean(name, all_names(layers));
  return "; it is repeated: write '" + name + ".0' to '" + name + "." + std::to_string(last) + "', or the pattern \"" +
         name + ".*\"";
}

std::string matches_nothing(const std::vector<LayerEntry>& layers, const Pattern& pattern, const std::string& what) {
  std::string hint;
  if (pattern.exact() && !pattern.by_type()) hint = name_hint(layers, pattern.text());
  if (pattern.by_type()) {
    std::set<std::string> types;
    for (const LayerEntry& layer : layers) types.insert(layer.type);
    hint = did_you_mean(pattern.text().substr(5), {types.begin(), types.end()});
  }
  return what + ": \"" + on_one_line(pattern.text()) + "\" matches no layer" + hint;
}

/// How firmly a pattern names a layer: 0 not at all, 1 by wildcards or type, then group copies from the outermost to
/// the innermost, at last its own name.
int rank(const Pattern& pattern, const LayerEntry& layer) {
  if (!pattern.exact() || pattern.by_type()) return matches_layer(pattern, layer) ? 1 : 0;
  if (pattern.text() == layer.name) return std::numeric_limits<int>::max();
  for (std::size_t depth = 0; depth < layer.groups.size(); ++depth)
    if (pattern.text() == layer.groups[depth]) return 2 + static_cast<int>(depth);
  return 0;
}

}  // namespace

int find_layer(const std::vector<LayerEntry>& layers, const std::string& name) {
  auto by_name = std::find_if(layers.begin(), layers.end(), [&](const LayerEntry& l) { return l.name == name; });
  if (by_name != layers.end()) return by_name->index;
  auto by_group = std::find_if(layers.begin(), layers.end(), [&](const LayerEntry& l) {
    return std::find(l.groups.begin(), l.groups.end(), name) != l.groups.end();
  });
  return by_group != layers.end() ? by_group->index : -1;
}

int require_layer(const std::vector<LayerEntry>& layers, const std::string& name, const Place& place,
                  const std::string& what) {
  int index = find_layer(layers, name);
  if (index < 0) throw Error(SY_E_CONFIG, place, what + ": there is no layer '" + name + "'" + name_hint(layers, name));
  return index;
}

bool matches_layer(const Pattern& pattern, const LayerEntry& layer) {
  if (pattern.by_type()) return pattern.matches(layer.type);
  return pattern.matches(layer.name) || std::any_of(layer.groups.begin(), layer.groups.end(),
                                                    [&](const std::string& g) { return pattern.matches(g); });
}

std::vector<int> match_layers(const std::vector<LayerEntry>& layers, const Pattern& pattern, const std::string& what) {
  std::vector<int> found;
  for (const LayerEntry& layer : layers)
    if (matches_layer(pattern, layer)) found.push_back(layer.index);
  if (found.empty()) throw Error(SY_E_CONFIG, pattern.place(), matches_nothing(layers, pattern, what));
  return found;
}

std::vector<bool> match_any(const std::vector<LayerEntry>& layers, const std::vector<Pattern>& patterns,
                            const std::string& what, ErrorList& errors) {
  std::vector<bool> named(layers.size());
  for (const Pattern& pattern : patterns) {
    bool any = false;
    for (std::size_t i = 0; i < layers.size(); ++i)
      if (matches_layer(pattern, layers[i])) any = named[i] = true;
    if (!any) errors.add(pattern.place(), matches_nothing(layers, pattern, what));
  }
  return named;
}

std::vector<int> choose_rules(const std::vector<LayerEntry>& layers, const std::vector<Pattern>& patterns,
                              const std::function<bool(int, int)>& same, const std::string& what, ErrorList& errors) {
  std::vector<bool> used(patterns.size());
  std::vector<int> chosen(layers.size(), -1), ranks(patterns.size());
  std::set<std::pair<int, int>> reported;
  auto compare = [&](int winner, int rule, const LayerEntry& layer) {
    if (same(winner, rule) || !reported.insert({winner, rule}).second) return;
    errors.add(patterns[rule].place(), what + ": \"" + patterns[winner].text() + "\" and \"" + patterns[rule].text() +
                                           "\" disagree about " + describe_layer(layer) +
                                           "; give it a rule by its exact name, or make one pattern narrower");
  };
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (std::size_t rule = 0; rule < patterns.size(); ++rule) {
      ranks[rule] = rank(patterns[rule], layers[i]);
      used[rule] = used[rule] || ranks[rule] > 0;
    }
    auto best = std::max_element(ranks.begin(), ranks.end());
    if (best == ranks.end() || *best == 0) continue;
    chosen[i] = static_cast<int>(best - ranks.begin());
    for (int rule = chosen[i] + 1; rule < static_cast<int>(ranks.size()); ++rule)
      if (ranks[rule] == *best) compare(chosen[i], rule, layers[i]);
  }
  for (std::size_t rule = 0; rule < patterns.size(); ++rule)
    if (!used[rule]) errors.add(patterns[rule].place(), matches_nothing(layers, patterns[rule], what));
  return chosen;
}

}  // namespace switchyard
