// switchyard new: writes a small project of its own for a plugin, ready to build, check and train with.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <set>

#include "commands.hpp"
#include "handle.hpp"
#include "templates/templates.hpp"

namespace cli {

namespace {

namespace fs = std::filesystem;

void expect_kind(const NewArguments& a) {
  const std::set<std::string> known{"layer", "optimizer", "policy", "schedule"};
  if (!known.contains(a.kind))
    throw Failure{wrong_input, "'" + a.kind + "' is no kind of plugin; known: layer, policy, optimizer, schedule"};
  if (a.torch && a.kind != "layer")
    throw Failure{wrong_input, "--torch is for layers; a " + a.kind + " computes nothing with LibTorch"};
}

/// A name becomes a file's name and what users write in TOML files.
void expect_name(const std::string& name) {
  if (!std::regex_match(name, std::regex("[a-z][a-z0-9_]{0,62}")))
    throw Failure{wrong_input, "'" + name +
                                   "' is no name for a plugin; wanted lower-case letters, digits and _, "
                                   "a letter first, 63 characters at most, such as my_layer"};
}

/// Two plugins of one name would hide each other.
void expect_new(const NewArguments& a) {
  const Runtime runtime = open_runtime();
  char* found = nullptr;
  const sy_rc rc = sy_describe(runtime.get(), a.name.c_str(), &found, nullptr);
  sy_free(found);
  if (rc == SY_OK)
    throw Failure{wrong_input, "something is called '" + a.name + "' already (switchyard describe " + a.name +
                                   "); choose another name"};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.flush();
  if (!file) throw Failure{failed_running, path.string() + " cannot be written"};
}

fs::path folder_of(const NewArguments& a) { return a.folder.empty() ? fs::path(a.name) : fs::path(a.folder); }

/// The names of the files that were written.
std::vector<std::string> write_project(const NewArguments& a) {
  const fs::path folder = folder_of(a);
  const std::string source = a.torch ? "torch_" + a.kind : a.kind, placeholder = "my_" + a.kind;
  std::error_code none;
  if (fs::exists(fs::symlink_status(folder, none)))
    throw Failure{wrong_input, folder.string() + " exists; nothing was written. Choose another --folder or name"};
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Failure{wrong_input, folder.string() + " cannot be made: " + error.message()};
  std::vector<std::string> written;
  for (const TemplateFile& file : template_files) {
    const fs::path path(file.path);
    if (path.parent_path() != source && path.parent_path() != "common") continue;
    written.push_back(replaced(path.filename(), placeholder, a.name));
    write(folder / written.back(), replaced(std::string(file.text), placeholder, a.name));
  }
  return written;
}

}  // namespace

int new_plugin(const NewArguments& arguments) {
  expect_kind(arguments);
  expect_name(arguments.name);
  expect_new(arguments);
  const std::vector<std::string> written = write_project(arguments);
  const std::string folder = folder_of(arguments).string();
  std::cout << folder << ":";
  for (const std::string& name : written) std::cout << " " << name;
  std::cout << "\nnext:\n  meson setup " << folder << "/build " << folder << "\n  meson compile -C " << folder
            << "/build\n  switchyard check " << folder << "/build/sy-" << arguments.kind << "-" << arguments.name
            << ".so\n  switchyard train " << folder << "/" << arguments.name << ".toml\n";
  return done;
}

}  // namespace cli
