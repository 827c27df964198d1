#include "store/run_folder.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/error.hpp"
#include "store/atomic_file.hpp"
#include "store/checkpoint.hpp"
#include "store/file_error.hpp"

namespace switchyard {
namespace {

namespace fs = std::filesystem;

void make_folders(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw file_error("make", folder, error.value());
}

/// The number of "STEM-007", nothing for any other name.
std::optional<int> number_of(const std::string& name, const std::string& stem) {
  if (!name.starts_with(stem + "-")) return std::nullopt;
  const char* begin = name.data() + stem.size() + 1;
  const char* end = name.data() + name.size();
  int number = 0;
  const auto [at, error] = std::from_chars(begin, end, number);
  if (begin == end || error != std::errc() || at != end || number < 0) return std::nullopt;
  return number;
}

int highest_number(const std::string& runs, const std::string& stem) {
  int highest = 0;
  std::error_code error;
  for (fs::directory_iterator at(runs, error), end; !error && at != end; at.increment(error))
    highest = std::max(highest, number_of(at->path().filename().string(), stem).value_or(0));
  return highest;
}

std::string numbered(const std::string& stem, int number) {
  char text[16];
  std::snprintf(text, sizeof text, "-%03d", number);
  return stem + text;
}

/// A convenience: a folder that somebody called latest, or a file system without links, is no reason to stop.
void point_latest(const std::string& runs, const std::string& name) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(runs + "/latest", error);
  if (fs::exists(status) && !fs::is_symlink(status)) return;
  try {
    replace_link(name, runs + "/latest");
  } catch (const Error&) {
  }
}

std::string without_slash(std::string folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  return folder;
}

}  // namespace

RunFolder RunFolder::at(const std::string& folder) {
  RunFolder run(without_slash(folder));
  std::error_code error;
  const fs::file_status status = fs::status(run.path(), error);
  if (fs::exists(status) && !fs::is_directory(status))
    throw Error(SY_E_CONFIG, "--out '" + folder + "' is not a folder");
  if (is_run(run.path()))
    throw Error(SY_E_CONFIG, "--out '" + folder + "' has a checkpoint; continue it with --resume '" + folder +
                                 "', or choose another folder");
  const bool wrote = fs::exists(run.plan(), error) || fs::exists(run.metrics(), error);
  if (fs::exists(run.config(), error) && !wrote)
    throw Error(SY_E_CONFIG, "--out '" + folder +
                                 "' holds a config.toml that no run wrote and that would be replaced; " +
                                 "choose another folder");
  make_folders(run.path());
  return run;
}

RunFolder RunFolder::next(const std::string& config_path, const std::string& runs) {
  make_folders(runs);
  const std::string stem = fs::path(config_path).stem().string();
  for (int number = highest_number(runs, stem) + 1;; ++number) {
    const std::string name = numbered(stem, number);
    std::error_code error;
    if (fs::create_directory(runs + "/" + name, error)) {
      point_latest(runs, name);
      return RunFolder(runs + "/" + name);
    }
    if (error) throw file_error("make", runs + "/" + name, error.value());
  }
}

RunFolder RunFolder::existing(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) throw Error(SY_E_CONFIG, "'" + folder + "' is not the folder of a run");
  const auto checkpoint = find_checkpoint(folder);
  if (!checkpoint) throw Error(SY_E_CONFIG, "'" + folder + "' has no complete checkpoint to go on from");
  if (checkpoint->folder == folder)
    throw Error(SY_E_CONFIG, "'" + folder + "' is a checkpoint; give the folder of its run");
  return RunFolder(without_slash(folder));
}

bool RunFolder::is_run(const std::string& folder) { return find_checkpoint(folder).has_value(); }

}  // namespace switchyard
