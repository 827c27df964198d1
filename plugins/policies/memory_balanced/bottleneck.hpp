// Large models: the smallest bottleneck by the additive model, corrected by what the core measures.
//
// For a bound r, stages are packed from the last layer backwards, each as large as r x budget allows, over all orders
// of device classes (a table over how many devices of each class are used). The stage's place from the end decides how
// many micro-batches it has in flight. Bisection finds the smallest r. After Pinar and Aykanat, "Fast optimal load
// balancing algorithms for 1D partitioning", 2004.
#pragma once

#include <optional>
#include <vector>

#include "judge.hpp"
#include "smooth.hpp"

namespace sy::place {

class bottleneck_search {
 public:
  bottleneck_search(const memory_model& model, std::vector<device_class> classes, std::size_t most_stages)
      : model_(model), classes_(std::move(classes)), most_stages_(most_stages) {}

  /// The split of the smallest bottleneck with as many stages as that bound allows; nothing when pins make it
  /// impossible.
  std::optional<split> best(const in_flight& flight, const judge& judge) const;

 private:
  struct packing {
    std::vector<std::size_t> classes;  // of the stages, the last one first
    std::vector<int32_t> first;
  };
  std::optional<packing> pack(double ratio, std::size_t stages, const in_flight& flight) const;
  int32_t reach(int32_t end, int32_t least, double bytes, double flight, const device_class& c) const;
  split assigned(const packing& p, const in_flight& flight, const judge& judge) const;

  const memory_model& model_;
  std::vector<device_class> classes_;
  std::size_t most_stages_;
};

}  // namespace sy::place
