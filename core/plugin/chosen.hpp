// Policies, schedules and optimizers as the configuration chooses them: found, their options checked, created.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "plugin/host.hpp"
#include "plugin/options.hpp"
#include "plugin/registry.hpp"

namespace switchyard {

/// An instance of a plugin's table. Move-only.
template <class Api, class Handle>
class Chosen {
 public:
  Chosen() = default;
  /// Checks the user's table and calls create. Mistakes are one Error(SY_E_CONFIG).
  Chosen(const Api& api, const Value& table, const std::string& where) : api_(&api) {
    ErrorList errors;
    const sy_config checked = check_plugin_options(api, table, errors, where);
    errors.raise();
    try {
      call_plugin([&](sy_error** e) { return api.create(host_table(), &checked, &handle_, e); });
    } catch (const Error& e) {
      throw Error(SY_E_CONFIG, table.place, where + " " + e.what());
    }
  }
  Chosen(Chosen&& o) noexcept : api_(o.api_), handle_(std::exchange(o.handle_, nullptr)) {}
  Chosen& operator=(Chosen&& o) noexcept {
    std::swap(api_, o.api_);
    std::swap(handle_, o.handle_);
    return *this;
  }
  ~Chosen() {
    if (handle_) api_->destroy(handle_);
  }
  const Api& api() const { return *api_; }
  Handle* get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  const Api* api_ = nullptr;
  Handle* handle_ = nullptr;
};

using ChosenPolicy = Chosen<sy_policy_api, sy_policy>;
using ChosenSchedule = Chosen<sy_schedule_api, sy_schedule>;
using ChosenOptimizer = Chosen<sy_optimizer_api, sy_optimizer>;

/// The sub-tables of those not chosen are checked as well. [ctl]
ChosenPolicy choose_policy(const Config& config, Registry& registry);
/// type = "file": 1f1b, by which placements are judged that the file is not for.
ChosenSchedule choose_schedule(const Config& config, Registry& registry);
/// The schedule of evaluation and generation.
ChosenSchedule forward_schedule(Registry& registry);

/// An optimizer, and what the core itself reads of its table.
struct OptimizerChoice {
  ChosenOptimizer optimizer;
  double lr = 1e-3;
  bool decay_all = false;  // decay = "all"; "matrices" leaves parameters of one dimension alone
  std::vector<std::string> states;
};
/// Throws when [train] is absent.
OptimizerChoice choose_optimizer(const Config& config, Registry& registry);

/// The keys of train.optimizer that the core reads.
const std::vector<OptionSpec>& optimizer_core_options();

}  // namespace switchyard
