#include "plugin/chosen.hpp"

#include <algorithm>

namespace switchyard {

namespace {

/// Finds a plugin by the name that stands at `choice.place`, so that an unknown name is reported there.
template <class Find>
auto& find_at(const PluginChoice& choice, const std::string& key, Find find) {
  try {
    return find(choice.name);
  } catch (const Error& e) {
    throw Error(e.code(), choice.place, key + " = \"" + choice.name + "\": " + e.what());
  }
}

/// Sub-tables of plugins that are there but not chosen are checked, so that swapping needs one key; a sub-table of an
/// unknown name is a mistake.
template <class Api>
void check_others(const PluginChoice& choice, const std::string& table, const char* kind, Registry& registry,
                  const Api& (Registry::*find)(const std::string&)) {
  ErrorList errors;
  for (const Value::Member& m : choice.options.table()) {
    if (m.key == choice.name) continue;
    if (!registry.has(kind, m.key)) {
      std::string known;
      for (const std::string& n : registry.names(kind)) known += (known.empty() ? "" : ", ") + n;
      errors.add(m.place, table + "." + m.key + ": nothing is called so; known: " + known);
      continue;
    }
    check_plugin_options((registry.*find)(m.key), m.value, errors, table + "." + m.key + ".");
  }
  errors.raise();
}

}  // namespace

ChosenPolicy choose_policy(const Config& config, Registry& registry) {
  const PluginChoice& choice = config.placement.policy;
  const sy_policy_api& api = find_at(choice, "placement.policy",
                                     [&](const std::string& n) -> const sy_policy_api& { return registry.policy(n); });
  check_others(choice, "placement", SY_KIND_POLICY, registry, &Registry::policy);
  return ChosenPolicy(api, choice.table(choice.name), "placement." + choice.name + ".");
}

ChosenSchedule choose_schedule(const Config& config, Registry& registry) {
  const PluginChoice& choice = config.schedule.type;
  check_others(choice, "schedule", SY_KIND_SCHEDULE, registry, &Registry::schedule);
  if (choice.name == "file") return ChosenSchedule(registry.schedule("1f1b"), Value(), "schedule.1f1b.");
  const sy_schedule_api& api = find_at(
      choice, "schedule.type", [&](const std::string& n) -> const sy_schedule_api& { return registry.schedule(n); });
  return ChosenSchedule(api, choice.table(choice.name), "schedule." + choice.name + ".");
}

ChosenSchedule forward_schedule(Registry& registry) {
  return ChosenSchedule(registry.schedule("forward"), Value(), "schedule.forward.");
}

const std::vector<OptionSpec>& optimizer_core_options() {
  static const std::vector<OptionSpec> specs = [] {
    OptionSpec lr;
    lr.key = "lr", lr.type = SY_T_F64, lr.fallback = "1e-3";
    lr.min = 0, lr.max = 1e9;
    lr.help = "learning rate, before lr_schedule";
    OptionSpec decay;
    decay.key = "decay", decay.type = SY_T_STR, decay.fallback = "\"matrices\"";
    decay.choices = {"matrices", "all"};
    decay.help = "which weights decay: those of two dimensions or more, or all";
    return std::vector<OptionSpec>{lr, decay};
  }();
  return specs;
}

OptimizerChoice choose_optimizer(const Config& config, Registry& registry) {
  if (!config.train) throw Error(SY_E_CONFIG, Place{config.file}, "the table [train] is missing");
  const OptimizerConfig& o = config.train->optimizer;
  const sy_optimizer_api* api = nullptr;
  try {
    api = &registry.optimizer(o.type);
  } catch (const Error& e) {
    throw Error(e.code(), o.type_place, "train.optimizer.type = \"" + o.type + "\": " + e.what());
  }
  Value own, core;
  own.place = core.place = o.place;
  std::vector<std::string> core_keys, plugin_keys;
  for (const OptionSpec& s : optimizer_core_options()) core_keys.push_back(s.key);
  for (const Value::Member& m : o.options.table()) {
    const bool of_core = std::find(core_keys.begin(), core_keys.end(), m.key) != core_keys.end();
    (of_core ? core : own).table().push_back(m);
  }
  ErrorList errors;
  const Options read = check_options(core, optimizer_core_options(), errors, "train.optimizer.");
  check_options(own, options_of(*api), errors, "train.optimizer.", core_keys);
  for (const Value::Member& m : o.others.table())
    if (registry.has(SY_KIND_OPTIMIZER, m.key))
      check_plugin_options(registry.optimizer(m.key), m.value, errors, "train.optimizer." + m.key + ".");
    else
      errors.add(m.place, "train.optimizer." + m.key + ": no optimizer is called so");
  errors.raise();
  OptimizerChoice choice{
      ChosenOptimizer(*api, own, "train.optimizer."), read.f64("lr"), read.str("decay") == "all", {}};
  for (uint32_t i = 0;; ++i) {
    const char* name = nullptr;
    sy_error* error = nullptr;
    const sy_rc rc = api->states(choice.optimizer.get(), i, &name, &error);
    if (rc == SY_E_RANGE && !error) break;
    if (rc != SY_OK) throw_plugin_error(rc, error);
    choice.states.push_back(name);
  }
  return choice;
}

}  // namespace switchyard
