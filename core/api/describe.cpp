// What there is to choose from, as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/call.hpp"
#include "api/handle.hpp"
#include "config/nearest.hpp"
#include "plugin/chosen.hpp"
#include "plugin/options.hpp"

using namespace switchyard;
using namespace switchyard::api;
using Json = nlohmann::ordered_json;

namespace {

struct Kind {
  const char* id;    // SY_KIND_*
  const char* word;  // in JSON
  const char* plural;
};
constexpr Kind kinds[] = {{SY_KIND_LAYER, "layer", "layers"},          {SY_KIND_POLICY, "policy", "policies"},
                          {SY_KIND_SCHEDULE, "schedule", "schedules"}, {SY_KIND_OPTIMIZER, "optimizer", "optimizers"},
                          {SY_KIND_BACKEND, "backend", "backends"},    {SY_KIND_COMM, "comm", "communicators"}};

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json option_json(const OptionSpec& spec) {
  Json json = {{"key", spec.key}, {"wanted", wanted_text(spec)}, {"required", !spec.fallback}};
  if (spec.fallback && !spec.fallback->empty()) json["default"] = *spec.fallback;
  if (!spec.unit.empty()) json["unit"] = spec.unit;
  json["help"] = spec.help;
  return json;
}

template <class Api>
Json type_json(Registry& registry, const Kind& kind, const Api& api) {
  Json json = {{"kind", kind.word},
               {"name", api.id},
               {"help", api.help ? api.help : ""},
               {"plugin", registry.plugin_of(&api)},
               {"options", Json::array()}};
  if (std::string(kind.word) == "optimizer")
    for (const OptionSpec& spec : optimizer_core_options()) json["options"].push_back(option_json(spec));
  for (const OptionSpec& spec : options_of(api)) json["options"].push_back(option_json(spec));
  return json;
}

Json type_json(Registry& registry, const Kind& kind, const std::string& name) {
  const std::string word = kind.word;
  if (word == "layer") return type_json(registry, kind, registry.layer(name));
  if (word == "policy") return type_json(registry, kind, registry.policy(name));
  if (word == "schedule") return type_json(registry, kind, registry.schedule(name));
  if (word == "optimizer") return type_json(registry, kind, registry.optimizer(name));
  if (word == "backend") return type_json(registry, kind, registry.backend(name));
  return type_json(registry, kind, registry.comm(name));
}

[[noreturn]] void unknown(Registry& registry, const std::string& name) {
  std::vector<std::string> all;
  for (const Kind& kind : kinds)
    for (const std::string& known : registry.names(kind.id)) all.push_back(known);
  const std::optional<std::string> hint = nearest(name, all);
  std::string text = "nothing is called '" + name + "'";
  if (hint) text += "; did you mean '" + *hint + "'?";
  text += " `switchyard describe` lists everything; searched:";
  for (const std::string& folder : registry.searched()) text += " " + folder;
  throw Error(SY_E_CONFIG, text);
}

Json described(Registry& registry, const std::string& name) {
  Json json = Json::array();
  for (const Kind& kind : kinds)
    if (registry.has(kind.id, name)) json.push_back(type_json(registry, kind, name));
  if (json.empty()) unknown(registry, name);
  return json;
}

Json everything(Registry& registry) {
  Json json;
  for (const Kind& kind : kinds) json[kind.plural] = registry.names(kind.id);
  return json;
}

Json candidate_json(const PluginCandidate& c) {
  Json json = {{"path", c.path}, {"id", c.id}, {"state", c.state}};
  if (!c.reason.empty()) json["reason"] = c.reason;
  json["provides"] = c.provides;
  return json;
}

}  // namespace

sy_rc sy_plugins(sy_runtime* runtime, char** give_json, sy_error** err) {
  return guard(err, [&] {
    Registry& registry = *alive(runtime).state->registry;
    need(give_json, "give_json");
    Json json = {{"searched", registry.searched()}, {"plugins", Json::array()}};
    for (const PluginCandidate& c : registry.candidates()) json["plugins"].push_back(candidate_json(c));
    give_text(give_json, dump(json));
  });
}

sy_rc sy_describe(sy_runtime* runtime, const char* name, char** give_json, sy_error** err) {
  return guard(err, [&] {
    Registry& registry = *alive(runtime).state->registry;
    need(give_json, "give_json");
    give_text(give_json, dump(name ? described(registry, name) : everything(registry)));
  });
}
