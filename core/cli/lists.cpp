// switchyard plugins, devices, describe, version: what there is.
#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "handle.hpp"
#include "progress.hpp"

namespace cli {

namespace {

using Json = nlohmann::ordered_json;

std::string joined(const Json& list, const char* between) {
  std::string text;
  for (const Json& item : list) text += (text.empty() ? "" : between) + item.get<std::string>();
  return text;
}

int print(const std::string& json, bool as_json, std::string (*readable)(const Json&)) {
  std::cout << (as_json ? json + "\n" : readable(Json::parse(json)));
  return done;
}

// ---- plugins

std::string plugins_text(const Json& all) {
  std::string text;
  for (const Json& p : all["plugins"]) {
    text += p["state"].get<std::string>() + "  " + p["path"].get<std::string>() + "\n";
    if (!p["provides"].empty()) text += "        " + joined(p["provides"], ", ") + "\n";
    if (p.contains("reason")) text += "        " + p["reason"].get<std::string>() + "\n";
  }
  return text + "searched: " + joined(all["searched"], ", ") + "\n";
}

// ---- devices

std::string device_text(const Json& d, bool logical) {
  std::string text =
      d["name"].get<std::string>() + (logical ? ", cpu:1, ..." : "") + "  " + d["maker_name"].get<std::string>();
  if (d.contains("bytes_total"))
    text += "  " + switchyard::bytes_text(d["bytes_free"].get<int64_t>()) + " free of " +
            switchyard::bytes_text(d["bytes_total"].get<int64_t>());
  if (d.contains("bus_id")) text += "  " + d["bus_id"].get<std::string>();
  if (d.contains("uuid")) text += "  " + d["uuid"].get<std::string>();
  return text + (logical ? "  (logical devices of one processor)" : "") + "\n";
}

std::string devices_text(const Json& all) {
  std::string text;
  for (const Json& backend : all["backends"]) {
    for (const Json& device : backend["devices"]) text += device_text(device, backend.contains("logical"));
    if (backend.contains("reason"))
      text += backend["name"].get<std::string>() + ": none; " + backend["reason"].get<std::string>() + "\n";
  }
  return text;
}

// ---- describe

std::string option_text(const Json& o) {
  std::string text = "  " + o["key"].get<std::string>() + " = ";
  text += o["required"].get<bool>() ? "(required)" : o.contains("default") ? o["default"].get<std::string>() : "(none)";
  text += "\n      " + o["wanted"].get<std::string>();
  if (o.contains("unit")) text += ", " + o["unit"].get<std::string>();
  if (!o["help"].get<std::string>().empty()) text += ": " + o["help"].get<std::string>();
  return text + "\n";
}

std::string type_text(const Json& type) {
  std::string text = type["kind"].get<std::string>() + " " + type["name"].get<std::string>() + "  (plugin " +
                     type["plugin"].get<std::string>() + ")\n";
  if (!type["help"].get<std::string>().empty()) text += "  " + type["help"].get<std::string>() + "\n";
  if (type["options"].empty()) return text + "  no options\n";
  for (const Json& option : type["options"]) text += option_text(option);
  return text;
}

std::string describe_text(const Json& all) {
  std::string text;
  if (all.is_array()) {
    for (const Json& type : all) text += (text.empty() ? "" : "\n") + type_text(type);
    return text;
  }
  for (const auto& [kind, names] : all.items())
    text += kind + ": " + (names.empty() ? "none" : joined(names, ", ")) + "\n";
  return text;
}

}  // namespace

int plugins(const CommonArguments& arguments) {
  const Runtime runtime = open_runtime(arguments.subject.path, arguments.subject.sets);
  // Asking for all names opens every file, so that the list tells what each of them offers.
  text_of([&](char** give, sy_error** err) { return sy_describe(runtime.get(), nullptr, give, err); });
  return print(text_of([&](char** give, sy_error** err) { return sy_plugins(runtime.get(), give, err); }),
               arguments.json, plugins_text);
}

int devices(const CommonArguments& arguments) {
  const Runtime runtime = open_runtime(arguments.subject.path, arguments.subject.sets);
  return print(text_of([&](char** give, sy_error** err) { return sy_devices(runtime.get(), give, err); }),
               arguments.json, devices_text);
}

int describe(const CommonArguments& arguments) {
  const Runtime runtime = open_runtime();
  const char* name = arguments.type.empty() ? nullptr : arguments.type.c_str();
  return print(text_of([&](char** give, sy_error** err) { return sy_describe(runtime.get(), name, give, err); }),
               arguments.json, describe_text);
}

int version(const CommonArguments&) {
  uint32_t major = 0, minor = 0;
  sy_abi(&major, &minor);
  std::cout << "switchyard " << sy_version() << ", ABI " << major << "." << minor << "\n";
  return done;
}

}  // namespace cli
