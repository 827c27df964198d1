#include "measure/measure.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <exception>
#include <mutex>
#include <set>
#include <thread>

#include "base/dtype.hpp"
#include "engine/call.hpp"
#include "engine/edge_link.hpp"
#include "engine/recorder.hpp"
#include "measure/layer_bench.hpp"
#include "measure/stopwatch.hpp"
#include "measure/update_bench.hpp"
#include "plugin/chosen.hpp"

namespace switchyard {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int warm_up = 2, fewest_rounds = 5, most_rounds = 200, round_trips = 60;
constexpr double seconds_a_layer = 0.4;
constexpr uint64_t cached_bytes = 64 << 20;  // more than a core's share of the caches
constexpr int64_t small_bytes = 4 << 10, least_large_bytes = 1 << 20;

/// A device of the plan at work, with a model of its own: a layer serves one thread at a time.
struct Worker {
  int index = 0;  // in the plan
  std::string key;
  const Device* device = nullptr;
  std::unique_ptr<Model> model;
};

/// Samples of one layer on one kind of device.
struct Samples {
  std::vector<double> forward, input, weight;
  MeasuredLayer bytes;
  void add(const MeasuredLayer& m) {
    forward.push_back(m.forward), input.push_back(m.input), weight.push_back(m.weight);
    bytes = m;
  }
  MeasuredLayer result() const {
    return {median(forward), median(input), median(weight), bytes.saved, bytes.workspace, bytes.workspace_backward};
  }
};

class Measurement {
 public:
  Measurement(const Config& config, Registry& registry, const Model& model, const Plan& plan,
              const std::vector<int64_t>& sizes, MeasuredCosts& costs)
      : config_(config), registry_(registry), model_(model), plan_(plan), sizes_(sizes), costs_(costs) {
    if (config.precision.tf32) flags_ |= SY_CALL_TF32;
    if (config.train && config.train->deterministic) flags_ |= SY_CALL_DETERMINISTIC;
    options_.gradient_dtype = config.precision.gradients == "bf16" ? dtype::bf16 : dtype::f32;
  }

  void run() {
    open_workers();
    for (const int64_t rows : sizes_) time_layers(rows);
    time_updates();
    time_links();
  }

 private:
  /// All logical CPU devices, since they share a processor; one of each kind of GPU.
  void open_workers() {
    std::set<std::string> seen;
    for (std::size_t d = 0; d < plan_.devices.size(); ++d) {
      const PlanDevice& device = plan_.devices[d];
      if (!device.backend)
        throw Error(SY_E_CONFIG, config_.devices.place,
                    "plan --measure: device " + device.name + " is not here; only devices that are here can be timed");
      if (!seen.insert(device_key(device)).second && device.device.type != SY_DEVICE_CPU) continue;
      Worker w;
      w.index = static_cast<int>(d);
      w.key = device_key(device);
      w.device = &this->device(w.index);
      w.model = Model::create(config_, registry_, model_.batch(), sizes_.back());
      workers_.push_back(std::move(w));
    }
  }

  const Device& device(int index) {
    auto& device = devices_[index];
    if (device) return *device;
    const PlanDevice& planned = plan_.devices[static_cast<std::size_t>(index)];
    auto& backend = backends_[planned.backend];
    if (!backend) backend = std::make_shared<OpenedBackend>(*planned.backend, config_.devices.p2p);
    device = std::make_unique<Device>(planned, backend);
    return *device;
  }

  /// body(worker) on a thread for each; the first failure is thrown when all have ended.
  template <class Body>
  void on_all(const Body& body) {
    std::vector<std::thread> threads;
    std::exception_ptr first;
    std::mutex mutex;
    for (Worker& w : workers_)
      threads.emplace_back([&] {
        try {
          const Device::Current current(*w.device);
          body(w);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!first) first = std::current_exception();
        }
      });
    for (std::thread& t : threads) t.join();
    if (first) std::rethrow_exception(first);
  }

  void time_layers(int64_t rows) {
    std::map<std::string, int> distinct;  // the first layer of each kind
    for (const Layer& layer : model_.layers())
      distinct.try_emplace(layer_key(config_, layer, workers_[0].model->shapes(SY_TRAIN, rows)), layer.index);
    for (const auto& [key, index] : distinct) {
      std::map<std::string, Samples> samples;  // by kind of device
      std::mutex mutex;
      std::barrier together(static_cast<std::ptrdiff_t>(workers_.size()));
      on_all([&, index = index](Worker& w) {
        const std::vector<MeasuredLayer> all = [&] {
          try {
            return time_layer(w, index, rows, together);
          } catch (...) {
            together.arrive_and_drop();
            throw;
          }
        }();
        const std::lock_guard lock(mutex);
        for (const MeasuredLayer& m : all) samples[w.key].add(m);
      });
      for (const auto& [device, of] : samples) costs_.set_layer(device, key, of.result());
    }
  }

  std::vector<MeasuredLayer> time_layer(Worker& w, int index, int64_t rows, std::barrier<>& together) {
    const Layer& layer = w.model->layers()[index];
    std::vector<MeasuredLayer> all;
    Stage nowhere;
    in_layer(layer, nowhere, *w.device, -1, [&] {
      const std::vector<sy_cost> costs = w.model->costs(SY_TRAIN, rows);
      LayerBench bench(*w.device, *w.model, layer, w.model->shapes(SY_TRAIN, rows), costs[index], options_, flags_);
      bench.fall_behind(cached_bytes);
      for (int i = 0; i < warm_up; ++i) bench.run();
      together.arrive_and_wait();
      const auto end = Clock::now() + std::chrono::duration<double>(seconds_a_layer);
      for (int i = 0; i < fewest_rounds || (i < most_rounds && Clock::now() < end); ++i) all.push_back(bench.run());
    });
    return all;
  }

  void time_updates() {
    if (!config_.train) return;
    const OptimizerChoice optimizer = choose_optimizer(config_, registry_);
    std::map<std::string, std::vector<double>> seconds;
    std::mutex mutex;
    on_all([&](Worker& w) {
      const double s = update_seconds(*w.device, w.index, *w.model, plan_, optimizer, options_.gradient_dtype);
      const std::lock_guard lock(mutex);
      if (s > 0) seconds[w.key].push_back(s);
    });
    for (auto& [device, all] : seconds) costs_.set_update(device, config_.train->optimizer.type, median(all));
  }

  /// Each pair of kinds of devices, in both directions.
  void time_links() {
    std::set<std::string> seen;
    for (std::size_t from = 0; from < plan_.devices.size(); ++from)
      for (std::size_t to = 0; to < plan_.devices.size(); ++to) {
        const std::string a = device_key(plan_.devices[from]), b = device_key(plan_.devices[to]);
        if (from != to && seen.insert(a + " to " + b).second)
          costs_.set_link(a, b, time_link(device(static_cast<int>(from)), device(static_cast<int>(to))));
      }
  }

  MeasuredLink time_link(const Device& a, const Device& b) {
    int64_t large = least_large_bytes;
    for (const Edge& e : plan_.edges) large = std::max(large, static_cast<int64_t>(e.bytes));
    const double short_s = hand_over_seconds(a, b, small_bytes), long_s = hand_over_seconds(a, b, large);
    const double per_byte = std::max(1e-13, (long_s - short_s) / static_cast<double>(large - small_bytes));
    return {1 / per_byte, std::max(0.0, short_s - per_byte * static_cast<double>(small_bytes))};
  }

  /// Half of a round trip through two edges, threads woken up included.
  static double hand_over_seconds(const Device& a, const Device& b, int64_t bytes) {
    EdgeLink there(Edge{}, a, b), back(Edge{}, b, a);
    there.open(static_cast<uint64_t>(bytes));
    back.open(static_cast<uint64_t>(bytes));
    std::exception_ptr failed;
    std::thread other([&] {
      try {
        const Device::Current current(b);
        Recorder none(b);
        for (int i = 0; i < round_trips; ++i) back.send(there.take(), i, none);
      } catch (const Stopped&) {
      } catch (...) {
        failed = std::current_exception();
        back.close();
      }
    });
    std::vector<double> seconds;
    try {
      time_round_trips(a, bytes, there, back, seconds);
    } catch (const Stopped&) {
    } catch (...) {
      failed = std::current_exception();
    }
    there.close();
    other.join();
    if (failed) std::rethrow_exception(failed);
    return median(std::move(seconds));
  }

  static void time_round_trips(const Device& a, int64_t bytes, EdgeLink& there, EdgeLink& back,
                               std::vector<double>& seconds) {
    const Device::Current current(a);
    Recorder none(a);
    Tensor tensor = a.new_tensor({bytes / 4}, dtype::f32);
    a.zero(tensor.view());
    for (int i = 0; i < round_trips; ++i) {
      const auto begin = Clock::now();
      there.send(std::move(tensor), i, none);
      tensor = back.take();
      a.wait();
      seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / 2);
    }
  }

  const Config& config_;
  Registry& registry_;
  const Model& model_;
  const Plan& plan_;
  std::vector<int64_t> sizes_;  // ascending
  MeasuredCosts& costs_;
  uint32_t flags_ = 0;
  StorageOptions options_;
  std::map<const sy_backend_api*, std::shared_ptr<OpenedBackend>> backends_;
  std::map<int, std::unique_ptr<Device>> devices_;  // by index in the plan
  std::vector<Worker> workers_;
};

}  // namespace

void measure_costs(const Config& config, Registry& registry, const Model& model, const Plan& plan,
                   const std::vector<int64_t>& sizes, MeasuredCosts& costs) {
  Measurement(config, registry, model, plan, sizes, costs).run();
}

void measure_into_file(const Config& config, Registry& registry, const Model& model, const Plan& plan,
                       const std::vector<int64_t>& sizes) {
  const std::string file = costs_file(config);
  MeasuredCosts costs = MeasuredCosts::read(file);
  measure_costs(config, registry, model, plan, sizes, costs);
  costs.write(file);
}

}  // namespace switchyard
