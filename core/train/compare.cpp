#include "train/compare.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/dtype.hpp"
#include "plan/choose.hpp"
#include "plugin/chosen.hpp"
#include "train/batch_spec.hpp"
#include "train/lr_schedule.hpp"
#include "train/random_batch.hpp"
#include "train/weights.hpp"

namespace switchyard {
namespace {

bool same(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b)); }

/// One of the two runs.
struct Side {
  std::unique_ptr<Pipe> pipe;
  std::string devices;
};

std::string device_names(const Plan& plan) {
  std::string names;
  for (const PlanDevice& device : plan.devices) names += (names.empty() ? "" : ", ") + device.name;
  return names;
}

class Comparer {
 public:
  Comparer(const Config& config, Registry& registry) : config_(config), registry_(registry) {
    if (!config.train)
      throw Error(SY_E_CONFIG, Place{config.file, 0, 0}, "[train] is missing: compare takes some of its steps");
    ModelAndData opened = open_model(config, registry, config.data.has_value());
    data_ = std::move(opened.data);
    if (data_) order_ = data_->order(config.train->batch);
    lr_ = choose_optimizer(config, registry).lr;
    if (config.model.weights) weights_ = assign_weights(*opened.model, *config.model.weights);
    Plan plan = make_plan(config, registry, *opened.model);
    const Config chosen = settled(config, plan);
    planned_ = build(std::move(opened.model), std::move(plan));
    auto model = Model::create(chosen, registry, planned_.pipe->model().batch(), micro_batch_rows(chosen)[0].count);
    Plan alone = make_single_device_plan(chosen, registry, *model);
    one_ = build(std::move(model), std::move(alone));
    result_.devices = planned_.devices;
    result_.one_device = one_.devices;
  }

  Comparison run(std::int64_t steps) {
    for (std::int64_t step = 1; step <= steps && result_.equal(); ++step) {
      result_.steps = step;
      compare_step(step);
    }
    if (result_.equal()) compare_values();
    return result_;
  }

 private:
  Side build(std::unique_ptr<Model> model, Plan plan) {
    Side side{nullptr, device_names(plan)};
    side.pipe = Pipe::build(config_, registry_, std::move(model), std::move(plan));
    if (weights_) place_weights(*side.pipe, *weights_);
    return side;
  }

  Batch batch(std::int64_t step) {
    if (!data_)
      return random_batch(one_.pipe->model(), config_.train->batch, static_cast<std::uint64_t>(config_.seed), step);
    Batch batch;
    data_->train->fill(order_->step(step), batch);
    return batch;
  }

  void compare_step(std::int64_t step) {
    const Batch samples = batch(step);
    const double lr = learning_rate(config_.train->lr_schedule, lr_, config_.train->steps, step);
    const StepResult a = planned_.pipe->step(samples, static_cast<std::uint64_t>(step), lr);
    const StepResult b = one_.pipe->step(samples, static_cast<std::uint64_t>(step), lr);
    const std::size_t pieces = std::max(a.micro_losses.size(), b.micro_losses.size());
    for (std::size_t i = 0; i < pieces; ++i)
      number("loss of micro-batch", "", static_cast<std::int64_t>(i), at(a.micro_losses, i), at(b.micro_losses, i));
    number("loss", "", 0, a.loss, b.loss);
    gradients();
    number("gradient norm", "", 0, a.grad_norm, b.grad_norm);
    number("skipped", "", 0, a.skipped, b.skipped);
  }

  static double at(const std::vector<double>& values, std::size_t i) {
    return i < values.size() ? values[i] : std::nan("");
  }

  void gradients() {
    std::vector<float> a, b;
    for (const Parameter& p : one_.pipe->model().parameters()) {
      if (!p.trainable || p.is_tied() || !result_.equal()) continue;
      a.resize(static_cast<std::size_t>(p.count()));
      b.resize(a.size());
      planned_.pipe->read_gradient(p.index, a);
      one_.pipe->read_gradient(p.index, b);
      elements("gradient", p.name, std::as_bytes(std::span(a)), std::as_bytes(std::span(b)), dtype::f32);
    }
  }

  /// After the last step: weights, buffers and optimizer states.
  void compare_values() {
    const auto states = static_cast<int>(one_.pipe->plan().state_names.size());
    for (const int index : saved_parameters(one_.pipe->model())) {
      const Parameter& p = one_.pipe->model().parameters()[index];
      tensor("value", p.name, p, {index, -1});
      for (int s = 0; s < states && p.trainable; ++s)
        tensor("state", p.name + " " + one_.pipe->plan().state_names[s], p, {index, s});
    }
  }

  void tensor(const char* what, const std::string& name, const Parameter& p, const TensorName& which) {
    if (!result_.equal()) return;
    const sy_dtype type = one_.pipe->stored_dtype(which);
    std::vector<std::byte> a(static_cast<std::size_t>(p.count()) * dtype_bytes(type)), b(a.size());
    planned_.pipe->read(which, a);
    one_.pipe->read(which, b);
    elements(what, name, a, b, type);
  }

  void elements(const char* what, const std::string& name, std::span<const std::byte> a, std::span<const std::byte> b,
                sy_dtype type) {
    const std::size_t each = dtype_bytes(type);
    result_.numbers += static_cast<std::int64_t>(a.size() / each);
    if (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0) return;
    for (std::size_t i = 0; i < a.size() && result_.equal(); i += each) {
      if (std::memcmp(&a[i], &b[i], each) == 0) continue;
      const double x = as_double(&a[i], type), y = as_double(&b[i], type);
      if (!(std::isnan(x) && std::isnan(y))) differ(what, name, static_cast<std::int64_t>(i / each), x, y);
    }
  }

  static double as_double(const std::byte* from, sy_dtype type) {
    double value = 0;
    std::int64_t whole = 0;
    if (is_float(type))
      convert(from, type, &value, dtype::f64, 1);
    else
      std::memcpy(&whole, from, dtype_bytes(type)), value = static_cast<double>(whole);
    return value;
  }

  void number(const char* what, const std::string& name, std::int64_t element, double a, double b) {
    if (!result_.equal()) return;
    ++result_.numbers;
    if (!same(a, b)) differ(what, name, element, a, b);
  }

  void differ(const char* what, const std::string& name, std::int64_t element, double a, double b) {
    result_.difference = Difference{result_.steps, what, name, element, a, b};
  }

  const Config& config_;
  Registry& registry_;
  std::optional<DataSet> data_;
  std::optional<SampleOrder> order_;
  std::optional<AssignedWeights> weights_;
  double lr_ = 0;
  Side planned_, one_;
  Comparison result_;
};

std::string digits(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

Comparison compare(const Config& config, Registry& registry, std::int64_t steps) {
  return Comparer(config, registry).run(steps);
}

std::string comparison_text(const Comparison& c) {
  if (c.equal())
    return std::to_string(c.steps) + " steps equal one device bit for bit (" + c.devices + " against " + c.one_device +
           "; " + std::to_string(c.numbers) + " numbers)";
  const Difference& d = *c.difference;
  std::string text = "step " + std::to_string(d.step) + ": " + d.what;
  if (d.what == "loss of micro-batch") text += " " + std::to_string(d.element);
  if (!d.name.empty()) text += " of '" + d.name + "', element " + std::to_string(d.element);
  return text + ": " + digits(d.plan) + " on " + c.devices + ", " + digits(d.one_device) + " on " + c.one_device +
         " alone";
}

std::string comparison_json(const Comparison& c) {
  nlohmann::ordered_json json;
  json["equal"] = c.equal();
  json["steps"] = c.steps;
  json["numbers"] = c.numbers;
  json["devices"] = c.devices;
  json["one_device"] = c.one_device;
  if (c.difference) {
    const Difference& d = *c.difference;
    json["difference"] = {{"step", d.step},       {"what", d.what}, {"name", d.name},
                          {"element", d.element}, {"plan", d.plan}, {"on_one_device", d.one_device}};
  }
  return json.dump();
}

}  // namespace switchyard
