// The flat storage of one device: every byte of weights, gradients, optimizer states, buffers and accumulators of the
// layers that lie there.
//
//   group (one per compute type of trained weights)
//     value   fp32   | p0 .. pad | p1 ...   each parameter starts at a multiple of 128 elements
//     copy    bf16   | the same layout      only where calls see another type than fp32
//     grad    fp32   | the same layout
//     states  fp32   | the same layout, one block for each
//   everything else (frozen weights, buffers, accumulators, other uses of tied weights): a block of its own
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/device.hpp"
#include "model/model.hpp"
#include "switchyard/optimizer.h"

namespace switchyard {

/// Where one parameter's bytes are. Views are lent as long as the storage lives.
struct Stored {
  int device = -1;
  OwnedView value;   // as calls see it
  OwnedView master;  // fp32; the value itself where that is fp32; unset when not trained
  bool trained = false;
  bool owns_value = true;  // false: a use of a tied weight that shares its owner's bytes on this device
  std::optional<OwnedView> gradient;
  std::vector<OwnedView> states;
};

struct StorageOptions {
  int states = 0;
  sy_dtype gradient_dtype{};
  bool decay_all = false;
};

class DeviceStorage {
 public:
  /// Allocates and zeroes what the parameters on device number `index` need. `stored` has an entry per parameter of the
  /// model; those on this device are filled. [stage]
  DeviceStorage(const Device& device, int index, const Model& model, const std::vector<int>& device_of_layer,
                const StorageOptions& options, std::vector<Stored>& stored);

  /// Zeroes gradients and accumulators. [stage]
  void start_step() const;

  /// A group, as the optimizer sees it.
  struct Span {
    sy_opt_span span{};
    std::vector<int> parameters;  // of each segment
    Block norms;                  // double per segment, on the device
  };
  std::vector<Span>& spans() { return spans_; }

 private:
  void add_group(const Model& model, sy_dtype type, const std::vector<int>& parameters, const StorageOptions& options,
                 std::vector<Stored>& stored);
  void add_single(const Parameter& parameter, bool with_owner, const StorageOptions& options,
                  std::vector<Stored>& stored);
  Block zeroed(uint64_t bytes);

  const Device& device_;
  std::vector<Block> blocks_;
  std::vector<OwnedView> cleared_;  // zeroed at the start of each step
  std::vector<Span> spans_;
  std::vector<std::unique_ptr<sy_opt_segment>> segments_;
  std::vector<std::unique_ptr<std::vector<const sy_opt_segment*>>> segment_lists_;
  std::vector<std::unique_ptr<std::vector<float*>>> state_lists_;
};

}  // namespace switchyard
