#include "handle.hpp"

namespace cli {

Runtime open_runtime(const std::string& path, const std::vector<std::string>& sets) {
  std::vector<const char*> items;
  for (const std::string& set : sets) items.push_back(set.c_str());
  sy_runtime_options options{};
  options.size = sizeof(options);
  options.config = path.empty() ? nullptr : path.c_str();
  options.sets = items.data();
  options.n_sets = static_cast<uint32_t>(items.size());
  sy_runtime* runtime = nullptr;
  call([&](sy_error** err) { return sy_runtime_open(&options, &runtime, err); });
  return Runtime(runtime);
}

std::string text_of(const std::function<sy_rc(char**, sy_error**)>& function) {
  char* raw = nullptr;
  call([&](sy_error** err) { return function(&raw, err); });
  const std::unique_ptr<char, void (*)(char*)> text(raw, sy_free);
  return text ? text.get() : "";
}

}  // namespace cli
