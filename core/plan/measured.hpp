// Costs that were timed on devices, and the file beside a configuration that keeps them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "config/config.hpp"
#include "model/model.hpp"
#include "plan/device.hpp"

namespace switchyard {

/// One layer and one micro-batch.
struct MeasuredLayer {
  double forward = 0, input = 0, weight = 0;                  // seconds; without a split backward all of it is `input`
  uint64_t saved = 0, workspace = 0, workspace_backward = 0;  // bytes, as sy_cost counts them
};

/// Copies from one device to another.
struct MeasuredLink {
  double bytes_per_s = 0, latency_s = 0;
};

/// What was measured, by texts that say of what: devices by maker's name and threads, layers by type, options, shapes
/// and types. A text that nobody asks for is of another configuration, and does no harm.
class MeasuredCosts {
 public:
  /// Empty when there is no such file or another version of the program wrote it. Throws Error(SY_E_CONFIG) for a file
  /// of another kind.
  static MeasuredCosts read(const std::string& file);
  /// Replaces the file in one step.
  void write(const std::string& file) const;

  bool empty() const { return devices_.empty(); }
  const MeasuredLayer* layer(const std::string& device, const std::string& layer) const;
  /// Seconds per element of clearing gradients, norm and optimizer step.
  std::optional<double> update(const std::string& device, const std::string& optimizer) const;
  const MeasuredLink* link(const std::string& from, const std::string& to) const;

  void set_layer(const std::string& device, const std::string& layer, const MeasuredLayer& costs);
  void set_update(const std::string& device, const std::string& optimizer, double seconds);
  void set_link(const std::string& from, const std::string& to, const MeasuredLink& link);

 private:
  struct OfDevice {
    std::map<std::string, double> updates;
    std::map<std::string, MeasuredLayer> layers;
  };
  std::map<std::string, OfDevice> devices_;
  std::map<std::string, MeasuredLink> links_;
};

/// CONFIG.costs.json for CONFIG.toml.
std::string costs_file(const Config& config);

/// "Some Processor, 1 thread": devices of one text are alike.
std::string device_key(const PlanDevice& device);
/// "linear { out = 64 } of fp32 16 x 32 to fp32 16 x 64 in fp32, gradients 1, trained": layers of one text cost the
/// same. "gradients 01": of the second input only.
std::string layer_key(const Config& config, const Layer& layer, const Shapes& shapes);

}  // namespace switchyard
