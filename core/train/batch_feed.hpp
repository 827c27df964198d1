// Batches of the training part, the next one prepared while a step runs.
#pragma once

#include <cstdint>
#include <future>

#include "data/data_set.hpp"
#include "data/sample_order.hpp"

namespace switchyard {

/// One thread calls; another one reads ahead. `data` is lent and must outlive the feed.
class BatchFeed {
 public:
  /// Reads nothing ahead past step `last`. Error SY_E_CONFIG: the data do not fill one batch.
  BatchFeed(const DataSet& data, std::int64_t batch, std::int64_t last);
  ~BatchFeed();
  BatchFeed(const BatchFeed&) = delete;
  BatchFeed& operator=(const BatchFeed&) = delete;

  /// The batch of an optimizer step (from 1), lent until the next call. Fastest when steps follow each other.
  const Batch& of(std::int64_t step);

 private:
  void fill(std::int64_t step, Batch& batch);

  const DataSet& data_;
  SampleOrder order_;  // used by one thread at a time: never while `ahead_` runs
  std::int64_t last_;
  Batch present_, next_;
  std::int64_t ahead_step_ = 0;  // 0: nothing is on its way
  std::future<void> ahead_;
};

}  // namespace switchyard
