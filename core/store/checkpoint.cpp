#include "store/checkpoint.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "store/atomic_file.hpp"
#include "store/file_error.hpp"
#include "store/folder_lock.hpp"

namespace switchyard {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view partial_mark = "partial-";
constexpr std::string_view step_mark = "step-";

std::string link_of(const std::string& run) { return run + "/checkpoint"; }
std::string pairs_of(const std::string& run) { return run + "/checkpoints"; }

std::string step_name(std::int64_t step) {
  char text[40];
  std::snprintf(text, sizeof text, "step-%06lld", static_cast<long long>(step));
  return text;
}

/// The step of "step-000100" or "step-000100.1"; nothing for any other name.
std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(step_mark)) return std::nullopt;
  name.remove_prefix(step_mark.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || (end != name.data() + name.size() && *end != '.')) return std::nullopt;
  return step;
}

bool complete(const std::string& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder + "/model.safetensors", ignored) &&
         fs::is_regular_file(folder + "/optimizer.safetensors", ignored);
}

/// Names in a folder, sorted; none if it does not exist.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// The folder in checkpoints/ that the link points to; "" if there is no such link.
std::string linked_name(const std::string& run) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link_of(run), error);
  return error ? "" : target.filename().string();
}

void rename_folder(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) throw file_error("rename", from, errno);
}

/// Renamed first, so that a removal that is cut off never looks like a checkpoint. What cannot be removed stays.
void discard(const std::string& pairs, const std::string& name) {
  std::string doomed = pairs + "/" + name;
  if (!name.starts_with(partial_mark)) {
    const std::string marked = pairs + "/" + std::string(partial_mark) + "old-" + name;
    std::error_code ignored;
    fs::remove_all(marked, ignored);
    if (std::rename(doomed.c_str(), marked.c_str()) == 0) doomed = marked;
  }
  std::error_code ignored;
  fs::remove_all(doomed, ignored);
}

void discard_partials(const std::string& run) {
  for (const std::string& name : names_in(pairs_of(run)))
    if (name.starts_with(partial_mark)) discard(pairs_of(run), name);
  std::error_code ignored;
  for (const std::string& name : names_in(run))
    if (name.starts_with("checkpoint.part-")) fs::remove(run + "/" + name, ignored);
}

/// A folder that is removed again unless it was renamed away.
struct PartialFolder {
  std::string path;
  ~PartialFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

void write_pair(const std::string& folder, std::int64_t step, const CheckpointContent& content) {
  auto state = content.state;
  state["step"] = std::to_string(step);
  write_safetensors(folder + "/model.safetensors", content.model, {{"format", "pt"}});  // layouts as in PyTorch
  write_safetensors(folder + "/optimizer.safetensors", content.optimizer, state);
}

/// A name for the step that neither exists nor is what the link points to. An unlinked folder of that name is what a
/// kill between renaming and linking left: it makes room.
std::string make_room(const std::string& pairs, std::int64_t step, const std::string& linked) {
  const std::string plain = step_name(step);
  std::string name = plain;
  for (int suffix = 1; name == linked; ++suffix) name = plain + "." + std::to_string(suffix);
  std::error_code ignored;
  if (fs::exists(pairs + "/" + name, ignored)) discard(pairs, name);
  return name;
}

void remove_old(const std::string& run, int keep) {
  const std::string linked = linked_name(run);
  std::vector<std::pair<std::int64_t, std::string>> others;
  for (const std::string& name : names_in(pairs_of(run)))
    if (const auto step = step_of(name); step && name != linked) others.emplace_back(*step, name);
  std::sort(others.rbegin(), others.rend());
  for (std::size_t i = static_cast<std::size_t>(std::max(keep, 1)) - 1; i < others.size(); ++i)
    discard(pairs_of(run), others[i].second);
}

std::string newest_complete(const std::string& pairs) {
  std::pair<std::int64_t, std::string> best{-1, ""};
  for (const std::string& name : names_in(pairs))
    if (const auto step = step_of(name); step && complete(pairs + "/" + name)) best = std::max(best, {*step, name});
  return best.second;
}

/// The folder of the run's pair, "" if it has none.
std::string pair_folder(const std::string& run) {
  if (complete(run)) return run;  // a pair itself
  const std::string linked = linked_name(run);
  if (!linked.empty() && complete(pairs_of(run) + "/" + linked)) return pairs_of(run) + "/" + linked;
  if (complete(link_of(run))) return link_of(run);  // a copy of a run, where the link became a folder
  const std::string newest = newest_complete(pairs_of(run));
  return newest.empty() ? "" : pairs_of(run) + "/" + newest;
}

}  // namespace

void save_checkpoint(const std::string& run_folder, std::int64_t step, const CheckpointContent& content, int keep) {
  const std::string pairs = pairs_of(run_folder);
  std::error_code error;
  fs::create_directories(pairs, error);
  if (error) throw file_error("make", pairs, error.value());
  const FolderLock lock(pairs);
  discard_partials(run_folder);

  const PartialFolder partial{pairs + "/" + std::string(partial_mark) + step_name(step)};
  if (!fs::create_directory(partial.path, error)) throw file_error("make", partial.path, error.value());
  write_pair(partial.path, step, content);

  const std::string name = make_room(pairs, step, linked_name(run_folder));
  rename_folder(partial.path, pairs + "/" + name);
  flush_folder(pairs);
  if (fs::is_directory(fs::symlink_status(link_of(run_folder), error)))
    rename_folder(link_of(run_folder), pairs + "/" + std::string(partial_mark) + "replaced");
  replace_link("checkpoints/" + name, link_of(run_folder));
  discard_partials(run_folder);
  remove_old(run_folder, keep);
}

std::optional<CheckpointPaths> find_checkpoint(const std::string& run_folder) {
  CheckpointPaths paths;
  paths.folder = pair_folder(run_folder);
  if (paths.folder.empty()) return std::nullopt;
  paths.model = paths.folder + "/model.safetensors";
  paths.optimizer = paths.folder + "/optimizer.safetensors";
  for (const std::string& name : names_in(pairs_of(run_folder)))
    if (name.starts_with(partial_mark))
      paths.notes.push_back("ignored the partial save '" + pairs_of(run_folder) + "/" + name + "'");
  return paths;
}

Checkpoint open_checkpoint(const std::string& run_folder) {
  auto paths = find_checkpoint(run_folder);
  if (!paths) throw Error(SY_E_NOT_FOUND, "'" + run_folder + "' has no checkpoint");
  Checkpoint result{*paths, SafetensorsFile::open(paths->model), SafetensorsFile::open(paths->optimizer), 0};
  const auto step = result.state().find("step");
  const std::string text = step == result.state().end() ? "" : step->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result.step);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || result.step < 0)
    throw Error(SY_E_DATA, Place{paths->optimizer, 0, 0}, "the metadata has no number of steps ('step')");
  return result;
}

}  // namespace switchyard
