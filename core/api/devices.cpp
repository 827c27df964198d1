// The devices of this machine, backend by backend, as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/call.hpp"
#include "api/handle.hpp"
#include "plugin/options.hpp"

using namespace switchyard;
using namespace switchyard::api;
using Json = nlohmann::ordered_json;

namespace {

/// A backend, open for as long as its devices are listed.
class Backend {
 public:
  explicit Backend(const sy_backend_api& api) : api_(api) {
    ErrorList errors;
    const sy_config none = check_plugin_options(api, Value(), errors, "");
    call_plugin([&](sy_error** e) { return api.open(host_table(), &none, &backend_, e); });
  }
  ~Backend() { api_.close(backend_); }
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  /// Device `index`; nothing: the list ends before it.
  std::optional<sy_device_info> device(uint32_t index) const {
    sy_device_info info{};
    info.size = sizeof(info);
    sy_error* error = nullptr;
    const sy_rc rc = api_.device(backend_, index, &info, &error);
    if (rc == SY_E_RANGE && !error) return std::nullopt;
    if (rc != SY_OK) throw_plugin_error(rc, error);
    return info;
  }

 private:
  const sy_backend_api& api_;
  sy_backend* backend_ = nullptr;
};

Json device_json(const std::string& backend, uint32_t index, const sy_device_info& info) {
  Json json = {{"name", backend + ":" + std::to_string(index)}, {"maker_name", info.name}};
  if (info.bytes_total > 0) json["bytes_total"] = info.bytes_total, json["bytes_free"] = info.bytes_free;
  if (*info.bus_id) json["bus_id"] = info.bus_id;
  if (*info.uuid) json["uuid"] = info.uuid;
  if (info.flops > 0) json["flops"] = info.flops;
  return json;
}

Json backend_json(Registry& registry, const std::string& name) {
  Json json = {{"name", name}, {"devices", Json::array()}};
  try {
    const Backend backend(registry.backend(name));
    for (uint32_t i = 0; i < 4096; ++i) {
      const auto info = backend.device(i);
      if (!info) break;
      json["devices"].push_back(device_json(name, i, *info));
      if (!(info->caps & SY_B_LOGICAL)) continue;
      json["logical"] = true;  // any number of them: the first one says it all
      break;
    }
    if (json["devices"].empty()) json["reason"] = "no device is visible";
  } catch (const Error& e) {
    json["reason"] = e.what();
  }
  return json;
}

/// Why a backend that people ask for is not there.
Json missing_json(const Registry& registry, const std::string& name) {
  Json json = {{"name", name}, {"devices", Json::array()}};
  json["reason"] = "this is a build without it: no sy-backend-" + name + ".so was found";
  for (const PluginCandidate& c : registry.candidates())
    if (c.path.find("sy-backend-" + name + ".so") != std::string::npos) json["reason"] = c.path + ": " + c.reason;
  return json;
}

}  // namespace

sy_rc sy_devices(sy_runtime* runtime, char** give_json, sy_error** err) {
  return guard(err, [&] {
    Registry& registry = *alive(runtime).state->registry;
    need(give_json, "give_json");
    Json json = {{"backends", Json::array()}};
    const std::vector<std::string> names = registry.names(SY_KIND_BACKEND);
    for (const std::string& name : names) json["backends"].push_back(backend_json(registry, name));
    if (std::find(names.begin(), names.end(), "cuda") == names.end())
      json["backends"].push_back(missing_json(registry, "cuda"));
    give_text(give_json, json.dump(-1, ' ', false, Json::error_handler_t::replace));
  });
}
