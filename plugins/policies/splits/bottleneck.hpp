// Large models: the split whose largest load is smallest.
//
// For a bound r, stages are packed from the last layer backwards, each as large as a load of r allows, over all orders
// of device classes (a table over how many devices of each class are used). The stage's place from the end decides how
// many micro-batches it has in flight. Bisection finds the smallest r. After Pinar and Aykanat, "Fast optimal load
// balancing algorithms for 1D partitioning", 2004. Time for one bound: states of the table x classes x log(layers).
#pragma once

#include <optional>
#include <vector>

#include "device_class.hpp"
#include "judge.hpp"

namespace sy::place {

class bottleneck_search {
 public:
  /// `classes`: the product of (devices + 1) over all of them is the size of the table.
  bottleneck_search(int32_t layers, const goal& goal, std::vector<device_class> classes, std::vector<worth> worths)
      : layers_(layers), goal_(goal), classes_(std::move(classes)), worths_(std::move(worths)) {}

  /// The best split into exactly `stages` stages, evened out; nothing when none is possible.
  std::optional<split> exactly(std::size_t stages, const in_flight& flight) const;
  /// The smallest bottleneck that at most `most` stages can have, by as many stages as that bound allows.
  std::optional<split> at_most(std::size_t most, const in_flight& flight) const;

 private:
  struct packing {
    std::vector<std::size_t> classes;  // of the stages, the last one first
    std::vector<int32_t> first;
  };
  struct bounded {
    packing what;
    double bound;
  };
  std::optional<bounded> bisect(std::size_t least, std::size_t most, const in_flight& flight) const;
  std::optional<packing> pack(double bound, std::size_t least, std::size_t most, const in_flight& flight) const;
  int32_t reach(int32_t end, int32_t lowest, double bound, double flight, int32_t device) const;
  split assigned(const packing& p, const in_flight& flight) const;

  int32_t layers_;
  const goal& goal_;
  std::vector<device_class> classes_;
  std::vector<worth> worths_;
};

}  // namespace sy::place
