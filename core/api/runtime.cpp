// Runtimes: a configuration, and the plugins that it may use.
#include <filesystem>
#include <map>

#include "api/call.hpp"
#include "api/handle.hpp"
#include "plugin/chosen.hpp"
#include "plugin/options.hpp"

using namespace switchyard;
using namespace switchyard::api;

namespace {

std::vector<std::string> sets_of(const sy_runtime_options& options) {
  if (options.n_sets > 0) need(options.sets, "sets");
  std::vector<std::string> sets;
  for (uint32_t i = 0; i < options.n_sets; ++i) sets.emplace_back(need(options.sets[i], "an item of sets"));
  return sets;
}

std::unique_ptr<sy_runtime> open_runtime(const sy_runtime_options& options) {
  if (options.config && options.text)
    throw Error(SY_E_ARGUMENT, "config and text are both given; one of them is enough");
  if (options.rank != 0 || options.ranks > 1 || options.ranks < 0)
    throw Error(SY_E_UNIMPLEMENTED, "rank " + std::to_string(options.rank) + " of " + std::to_string(options.ranks) +
                                        ": one process drives all devices yet; set rank to 0 and ranks to 0 or 1");
  auto state = std::make_shared<RuntimeState>();
  state->sets = sets_of(options);
  if (options.config) {
    state->path = options.config;
    state->subject = open_subject(state->path, state->sets);
  } else if (options.text) {
    const std::filesystem::path folder = options.folder ? options.folder : "";
    state->subject = Subject{parse_config(options.text, (folder / "text.toml").string(), state->sets), ""};
  } else if (!state->sets.empty()) {
    throw Error(SY_E_ARGUMENT, "sets without a configuration");
  }
  state->registry = state->subject ? open_registry(state->subject->config)
                                   : std::make_unique<Registry>(std::vector<std::string>(), std::vector<std::string>());
  auto runtime = std::make_unique<sy_runtime>();
  runtime->state = std::move(state);
  return runtime;
}

/// Finds the options of plugins by name; nullptr for unknown ones, which are reported where they are used.
class PublishedOptions {
 public:
  explicit PublishedOptions(Registry& registry) : registry_(registry) {}

  const std::vector<OptionSpec>* of(const std::string& kind, const std::string& name) {
    auto& found = known_[kind + " " + name];
    if (!found) found = std::make_unique<std::optional<std::vector<OptionSpec>>>(look_up(kind, name));
    return *found ? &**found : nullptr;
  }

 private:
  std::optional<std::vector<OptionSpec>> look_up(const std::string& kind, const std::string& name) {
    try {
      if (kind == "layer") return options_of(registry_.layer(name));
      if (kind == "policy") return options_of(registry_.policy(name));
      if (kind == "schedule") return options_of(registry_.schedule(name));
      std::vector<OptionSpec> all = optimizer_core_options();
      for (OptionSpec& spec : options_of(registry_.optimizer(name))) all.push_back(std::move(spec));
      return all;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  Registry& registry_;
  std::map<std::string, std::unique_ptr<std::optional<std::vector<OptionSpec>>>> known_;
};

}  // namespace

sy_rc sy_runtime_open(const sy_runtime_options* options, sy_runtime** give, sy_error** err) {
  return guard(err, [&] {
    need(give, "give");
    give_handle(give, open_runtime(read_struct(options, "options")));
  });
}

void sy_runtime_close(sy_runtime* take) { close_handle(take); }

sy_rc sy_plugin_load(sy_runtime* runtime, const char* path, sy_error** err) {
  return guard(err, [&] { alive(runtime).state->registry->load(need(path, "path")); });
}

sy_rc sy_plugin_register(sy_runtime* runtime, const struct sy_plugin* lend, sy_error** err) {
  return guard(err, [&] { alive(runtime).state->registry->add(need(lend, "plugin")); });
}

sy_rc sy_config_print(sy_runtime* runtime, char** give_toml, sy_error** err) {
  return guard(err, [&] {
    const RuntimeState& state = *alive(runtime).state;
    PublishedOptions published(*state.registry);
    const auto look_up = [&](const std::string& kind, const std::string& name) { return published.of(kind, name); };
    give_text(need(give_toml, "give_toml"), print_config(state.configured().config, look_up));
  });
}
