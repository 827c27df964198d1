// Which samples form an optimizer step: a pure function of the options and the step's number, so that a resumed run
// sees what an uninterrupted one would have seen.
#pragma once

#include <cstdint>
#include <vector>

namespace switchyard {

enum class OrderKind {
  given,     // 0, 1, 2, ... and again from the start
  permuted,  // each epoch in an order of its own, drawn from (seed, epoch)
  drawn,     // each sample drawn uniformly from (seed, number of samples before it): no epochs
};

struct OrderOptions {
  OrderKind kind = OrderKind::given;
  std::int64_t samples = 0;  // numbered 0 .. samples - 1
  std::int64_t stride = 1;   // given: only every stride-th sample (non-overlapping windows of a text)
  std::int64_t batch = 1;
  bool drop_last = true;  // an epoch's last, smaller batch is left out; otherwise it is a smaller step. Not for drawn.
  std::uint64_t seed = 0;
};

/// One thread at a time (it keeps the epoch's order).
class SampleOrder {
 public:
  /// Error SY_E_CONFIG with both numbers: no samples, or fewer than one batch while drop_last is set.
  static SampleOrder create(const OrderOptions& options);

  /// The samples of optimizer step `step`, which counts from 1: `batch` of them, or fewer in the last step of an epoch.
  std::vector<std::int64_t> step(std::int64_t step);
  /// How many step() gives, without drawing.
  std::int64_t size_of(std::int64_t step) const;
  /// Optimizer steps of one epoch; 0: there are no epochs.
  std::int64_t steps_per_epoch() const;

 private:
  explicit SampleOrder(const OrderOptions& options) : options_(options) {}
  std::int64_t items() const;
  const std::vector<std::int64_t>& permutation(std::int64_t epoch);

  OrderOptions options_;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> permutation_;
};

}  // namespace switchyard
