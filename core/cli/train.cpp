// switchyard train.
#include <iostream>

#include "commands.hpp"
#include "handle.hpp"
#include "signals.hpp"
#include "train_view.hpp"

namespace cli {

namespace {

TrainView& view_of(void* user) { return *static_cast<TrainView*>(user); }

sy_train_options to_api(const TrainArguments& o, TrainView& view) {
  sy_train_options api{};
  api.size = sizeof(api);
  api.out = o.out.empty() ? nullptr : o.out.c_str();
  api.resume = o.resume.empty() ? nullptr : o.resume.c_str();
  api.trace = o.trace.empty() ? nullptr : o.trace.c_str();
  api.user = &view;
  api.on_plan = [](void* user, const char*, const char* json) { view_of(user).plan(json); };
  api.on_step = [](void* user, const sy_report* report) -> int32_t {
    view_of(user).step(*report);
    return signal_received();
  };
  api.on_report = [](void* user, const sy_report* report) -> int32_t {
    view_of(user).report(*report);
    return signal_received();
  };
  api.on_event = [](void* user, const char* line) { view_of(user).event(line); };
  return api;
}

}  // namespace

int train(const TrainArguments& arguments) {
  const Runtime runtime = open_runtime(arguments.subject.path, arguments.subject.sets);
  if (arguments.print_config) {
    std::cout << text_of([&](char** give, sy_error** err) { return sy_config_print(runtime.get(), give, err); });
    return done;
  }
  const GracefulStop stop("\nstopping after this step, with a checkpoint; a second signal stops at once\n");
  TrainView view(arguments.program);
  const sy_train_options api = to_api(arguments, view);
  const std::string result =
      text_of([&](char** give, sy_error** err) { return sy_train(runtime.get(), &api, give, err); });
  view.end(result, arguments.subject.path);
  return signal_received() ? 128 + signal_received() : done;
}

}  // namespace cli
