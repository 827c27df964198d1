// Plugins under test.
#include "check/check.hpp"

#include "api/call.hpp"
#include "api/handle.hpp"

using namespace switchyard;
using namespace switchyard::api;

namespace {

checks::Request check_request(const sy_check_options& o) {
  checks::Request request;
  if (o.n_sets > 0) need(o.sets, "sets");
  if (o.n_inputs > 0) need(o.inputs, "inputs");
  for (uint32_t i = 0; i < o.n_sets; ++i) request.add_option(need(o.sets[i], "sets"));
  for (uint32_t i = 0; i < o.n_inputs; ++i) request.add_input(need(o.inputs[i], "inputs"));
  if (o.type) request.set_type(o.type);
  if (o.only) request.only = o.only;
  return request;
}

checks::Listener listener_of(const sy_check_options& o) {
  checks::Listener listener;
  if (o.on_begin) listener.on_begin = [o](const std::string& check) { o.on_begin(o.user, check.c_str()); };
  if (o.on_line) listener.on_line = [o](const std::string& line) { o.on_line(o.user, line.c_str()); };
  return listener;
}

std::vector<std::string> plugin_folders(const RuntimeState& state) {
  std::vector<std::string> folders;
  if (state.subject)
    for (const Placed& folder : state.subject->config.plugins.paths) folders.push_back(folder.text);
  return folders;
}

}  // namespace

sy_rc sy_plugin_check(sy_runtime* runtime, const char* path, const sy_check_options* given, char** give_json,
                      sy_error** err) {
  return guard(err, [&] {
    const RuntimeState& state = *alive(runtime).state;
    need(path, "path");
    const sy_check_options options = read_struct(given, "options");
    const checks::Report report =
        checks::check_plugin(path, check_request(options), plugin_folders(state), listener_of(options));
    give_text(give_json, checks::report_json(report));
  });
}
