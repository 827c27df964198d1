#include "train/batch_feed.hpp"

#include <utility>

namespace switchyard {

BatchFeed::BatchFeed(const DataSet& data, std::int64_t batch, std::int64_t last)
    : data_(data), order_(data.order(batch)), last_(last) {}

BatchFeed::~BatchFeed() {
  if (ahead_.valid()) ahead_.wait();
}

void BatchFeed::fill(std::int64_t step, Batch& batch) { data_.train->fill(order_.step(step), batch); }

const Batch& BatchFeed::of(std::int64_t step) {
  if (ahead_.valid()) ahead_.get();
  if (ahead_step_ == step)
    std::swap(present_, next_);
  else
    fill(step, present_);
  ahead_step_ = step < last_ ? step + 1 : 0;
  if (ahead_step_ != 0) ahead_ = std::async(std::launch::async, [this, to = ahead_step_] { fill(to, next_); });
  return present_;
}

}  // namespace switchyard
