#include "plugin/registry.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>

#include "base/error.hpp"
#include "config/nearest.hpp"
#include "plugin/host.hpp"
#include "plugin/loader.hpp"
#include "plugin/search_path.hpp"

namespace switchyard {
namespace {

std::string join(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& w : words) all += (all.empty() ? "" : ", ") + w;
  return all.empty() ? "none" : all;
}

std::string name_of(const LoadedPlugin& plugin) {
  return plugin.id + " (" + (plugin.path.empty() ? "in the host program" : plugin.path) + ")";
}

}  // namespace

struct Registry::Impl {
  /// One table that this runtime may use.
  struct Offer {
    const PluginTable* table = nullptr;
    const LoadedPlugin* plugin = nullptr;
    bool wanted = false;  // named by the user or the host program, not found by searching
  };

  std::vector<SearchFolder> folders;
  std::vector<PluginCandidate> candidates;  // in search order, then files named by the user
  std::map<std::string, sy_rc> refused;     // why candidates were skipped, by path
  std::map<std::pair<const PluginKind*, std::string>, Offer> offers;

  void scan();
  void look_at(const std::string& path, bool named);
  PluginCandidate& candidate(const std::string& path);
  std::string resolve(const std::string& wanted) const;
  void load_wanted(const std::string& wanted);
  void try_candidate(PluginCandidate& c);
  void skip(PluginCandidate& c, const Error& why);
  void open_all(const PluginKind& kind);
  void check_wanted(const LoadedPlugin& plugin) const;
  void take(const LoadedPlugin& plugin, bool wanted, PluginCandidate* from);
  const Offer* find(const PluginKind& kind, const std::string& id);
  const Offer* known(const PluginKind& kind, const std::string& id) const;
  std::vector<std::string> names(const PluginKind& kind) const;
  [[noreturn]] void unknown(const PluginKind& kind, const std::string& id);
  const void* get(const char* kind, const std::string& id);
};

void Registry::Impl::scan() {
  for (const SearchFolder& folder : folders)
    for (const std::string& path : libraries_in(folder.path)) look_at(path, folder.named);
}

/// Reads the note only: what does not fit is skipped with its reason before it is ever needed.
void Registry::Impl::look_at(const std::string& path, bool named) {
  const bool odd = !std::filesystem::path(path).filename().string().starts_with("sy-");
  if (odd && !named) return;
  PluginCandidate c;
  c.path = path;
  c.state = "skipped";
  if (odd) {
    c.reason = "its name is not sy-KIND-NAME.so";
  } else {
    try {
      const PluginNote note = read_plugin_note(path);
      c.id = note.id;
      check_note(note, path);
      c.state = "found";
    } catch (const Error& e) {
      skip(c, e);
    }
  }
  candidates.push_back(std::move(c));
}

/// One line of the log for each, at debug level: a search that goes on is no failure.
void Registry::Impl::skip(PluginCandidate& c, const Error& why) {
  c.state = "skipped";
  c.reason = why.what();
  log(1, "plugins", c.reason);
  if (c.reason.starts_with(c.path)) c.reason.erase(0, c.path.size());  // the path stands beside it
  c.reason.erase(0, c.reason.find_first_not_of(": "));
  refused[c.path] = why.code();
}

PluginCandidate& Registry::Impl::candidate(const std::string& path) {
  for (PluginCandidate& c : candidates)
    if (c.path == path) return c;
  candidates.push_back({path, "", "found", "", {}});
  return candidates.back();
}

/// A path as it is; a bare name ("linear", "layer-linear", "org.example.linear") by looking among what was found.
std::string Registry::Impl::resolve(const std::string& wanted) const {
  if (wanted.find('/') != std::string::npos) return std::filesystem::absolute(wanted).lexically_normal();
  for (const PluginCandidate& c : candidates) {
    const std::string file = std::filesystem::path(c.path).filename();
    const bool is_file = file == wanted || file == wanted + ".so" || file == "sy-" + wanted + ".so";
    if (is_file || c.id == wanted || parse_file_name(c.path).name == wanted) return c.path;
  }
  std::vector<std::string> where;
  for (const SearchFolder& f : folders) where.push_back(f.path);
  throw Error(SY_E_NOT_FOUND, "no plugin '" + wanted + "' in the folders searched: " + join(where));
}

void Registry::Impl::load_wanted(const std::string& wanted) {
  const std::string path = resolve(wanted);
  PluginCandidate& c = candidate(path);
  try {
    const LoadedPlugin& plugin = load_plugin(path);
    c.id = plugin.id;
    take(plugin, true, &c);
  } catch (const Error& e) {
    if (c.state != "loaded") skip(c, e);
    throw;
  }
}

void Registry::Impl::try_candidate(PluginCandidate& c) {
  if (c.state != "found") return;
  try {
    take(load_plugin(c.path), false, &c);
  } catch (const Error& e) {
    skip(c, e);
  }
}

/// Every file that may hold something of this kind.
void Registry::Impl::open_all(const PluginKind& kind) {
  for (PluginCandidate& c : candidates) {
    const std::string word = parse_file_name(c.path).word;
    if (word.empty() || word == kind.word) try_candidate(c);
  }
}

/// Two plugins that the user both named must not offer the same.
void Registry::Impl::check_wanted(const LoadedPlugin& plugin) const {
  for (const PluginTable& table : plugin.tables) {
    const Offer* old = known(*table.kind, table.id);
    if (old && old->wanted && old->table != &table)
      throw Error(SY_E_EXISTS, "two plugins offer the " + std::string(table.kind->title) + " '" + table.id +
                                   "': " + name_of(*old->plugin) + " and " + name_of(plugin));
  }
}

/// The first offer of a name stays, except that wanted ones replace those that were found by searching.
void Registry::Impl::take(const LoadedPlugin& plugin, bool wanted, PluginCandidate* from) {
  if (wanted) check_wanted(plugin);
  std::vector<std::string> provides, hidden;
  for (const PluginTable& table : plugin.tables) {
    const std::string name = std::string(table.kind->word) + " " + table.id;
    const Offer* old = known(*table.kind, table.id);
    if (old && old->table != &table && !wanted) {
      hidden.push_back(name + " comes from " + name_of(*old->plugin));
      continue;
    }
    offers[{table.kind, table.id}] = {&table, &plugin, wanted || (old && old->wanted)};
    provides.push_back(name);
  }
  if (!from) return;
  from->state = "loaded";
  from->provides = provides;
  from->reason = hidden.empty() ? "" : join(hidden);
}

const Registry::Impl::Offer* Registry::Impl::known(const PluginKind& kind, const std::string& id) const {
  const auto at = offers.find({&kind, id});
  return at == offers.end() ? nullptr : &at->second;
}

/// The file that is named after it, then every file of that kind.
const Registry::Impl::Offer* Registry::Impl::find(const PluginKind& kind, const std::string& id) {
  if (const Offer* o = known(kind, id)) return o;
  for (PluginCandidate& c : candidates) {
    const PluginFileName name = parse_file_name(c.path);
    if (name.word != kind.word || name.name != id) continue;
    try_candidate(c);
    if (const Offer* o = known(kind, id)) return o;
  }
  open_all(kind);
  return known(kind, id);
}

std::vector<std::string> Registry::Impl::names(const PluginKind& kind) const {
  std::vector<std::string> all;
  for (const auto& [key, offer] : offers)
    if (key.first == &kind) all.push_back(key.second);
  std::sort(all.begin(), all.end());
  return all;
}

void Registry::Impl::unknown(const PluginKind& kind, const std::string& id) {
  // A file of that very name which does not fit is the mistake to tell about.
  for (const PluginCandidate& c : candidates) {
    const PluginFileName name = parse_file_name(c.path);
    if (c.state == "skipped" && name.word == kind.word && name.name == id)
      throw Error(refused.at(c.path),
                  std::string(kind.title) + " '" + id + "' cannot be used: " + c.path + ": " + c.reason);
  }
  const std::vector<std::string> all = names(kind);
  std::string text = "unknown " + std::string(kind.title) + " '" + id + "'";
  const auto near = nearest(id, all);
  text += near ? "; did you mean '" + *near + "'? Known: " : ". Known: ";
  text += join(all) + ". Folders searched:";
  std::string where;
  for (const SearchFolder& f : folders)
    where += (where.empty() ? " " : ", ") + f.path + (f.exists ? "" : " (cannot be read)");
  text += where.empty() ? " none" : where;
  std::string skipped;
  for (const PluginCandidate& c : candidates) {
    const std::string word = parse_file_name(c.path).word;
    if (c.state == "skipped" && (word.empty() || word == kind.word))
      skipped += (skipped.empty() ? "" : "; ") + c.path + ": " + c.reason;
  }
  if (!skipped.empty()) text += ". Skipped: " + skipped;
  throw Error(SY_E_CONFIG, text);
}

const void* Registry::Impl::get(const char* kind, const std::string& id) {
  const PluginKind& k = *find_kind(kind);
  const Offer* offer = find(k, id);
  if (!offer) unknown(k, id);
  return offer->table->table;
}

Registry::Registry(const std::vector<std::string>& load, const std::vector<std::string>& paths) : impl_(new Impl) {
  impl_->folders = search_folders(paths);
  impl_->scan();
  for (const std::string& wanted : load) impl_->load_wanted(wanted);
}

Registry::~Registry() = default;

void Registry::load(const std::string& path) { impl_->load_wanted(path); }

void Registry::add(const sy_plugin* plugin) { impl_->take(adopt_plugin(plugin), true, nullptr); }

const sy_layer_api& Registry::layer(const std::string& id) {
  return *static_cast<const sy_layer_api*>(impl_->get(SY_KIND_LAYER, id));
}
const sy_policy_api& Registry::policy(const std::string& id) {
  return *static_cast<const sy_policy_api*>(impl_->get(SY_KIND_POLICY, id));
}
const sy_schedule_api& Registry::schedule(const std::string& id) {
  return *static_cast<const sy_schedule_api*>(impl_->get(SY_KIND_SCHEDULE, id));
}
const sy_optimizer_api& Registry::optimizer(const std::string& id) {
  return *static_cast<const sy_optimizer_api*>(impl_->get(SY_KIND_OPTIMIZER, id));
}
const sy_backend_api& Registry::backend(const std::string& id) {
  return *static_cast<const sy_backend_api*>(impl_->get(SY_KIND_BACKEND, id));
}
const sy_comm_api& Registry::comm(const std::string& id) {
  return *static_cast<const sy_comm_api*>(impl_->get(SY_KIND_COMM, id));
}

const sy_backend_api* Registry::find_backend(const std::string& id) {
  const auto* offer = impl_->find(*find_kind(SY_KIND_BACKEND), id);
  return offer ? static_cast<const sy_backend_api*>(offer->table->table) : nullptr;
}

bool Registry::has(const std::string& kind, const std::string& id) {
  const PluginKind* k = find_kind(kind);
  return k && impl_->find(*k, id);
}

std::vector<std::string> Registry::names(const std::string& kind) {
  const PluginKind* k = find_kind(kind);
  if (!k) return {};
  impl_->open_all(*k);
  return impl_->names(*k);
}

const std::vector<PluginCandidate>& Registry::candidates() const { return impl_->candidates; }

std::vector<std::string> Registry::searched() const {
  std::vector<std::string> paths;
  for (const SearchFolder& f : impl_->folders) paths.push_back(f.path + (f.exists ? "" : " (cannot be read)"));
  return paths;
}

std::string Registry::plugin_of(const void* table) const { return plugin_of_table(table); }

}  // namespace switchyard
