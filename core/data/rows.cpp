#include "data/rows.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "data/batch_check.hpp"

namespace switchyard {
namespace {

/// Brings one row of `count` elements from its stored type to a batch's type.
void bring(std::span<const std::byte> from, sy_dtype stored, sy_dtype wanted, std::byte* to, std::int64_t count) {
  if (is_float(stored)) return convert(from.data(), stored, to, wanted, static_cast<std::size_t>(count));
  std::vector<std::byte> aligned;  // a mapped file may have its integers anywhere
  if (reinterpret_cast<std::uintptr_t>(from.data()) % dtype_bytes(stored) != 0) {
    aligned.assign(from.begin(), from.end());
    from = aligned;
  }
  const IdsView ids{from.data(), stored, std::span(&count, 1)};
  if (wanted == id_dtype)
    widen_ids(ids, reinterpret_cast<std::int64_t*>(to));
  else
    ids_to_numbers(ids, reinterpret_cast<float*>(to));
}

class RowSource : public DataSource {
 public:
  RowSource(std::shared_ptr<const Rows> rows, std::int64_t first, std::int64_t count)
      : rows_(std::move(rows)), first_(first), count_(count) {}

  std::int64_t samples() const override { return count_; }
  InputSpec inputs() const override { return rows_->inputs; }
  TargetSpec targets() const override { return rows_->targets; }

  void fill(std::span<const std::int64_t> samples, Batch& batch) const override {
    check_samples(samples, count_);
    batch.samples.assign(samples.begin(), samples.end());
    copy(samples, rows_->input_bytes, rows_->stored_inputs, rows_->inputs.dtype, rows_->inputs.shape, batch.inputs);
    copy(samples, rows_->target_bytes, rows_->stored_targets, rows_->targets.dtype, rows_->targets.shape,
         batch.targets);
  }

 private:
  void copy(std::span<const std::int64_t> samples, std::span<const std::byte> bytes, sy_dtype stored, sy_dtype wanted,
            const std::vector<std::int64_t>& shape, HostTensor& to) const {
    std::vector<std::int64_t> whole = {static_cast<std::int64_t>(samples.size())};
    whole.insert(whole.end(), shape.begin(), shape.end());
    to.reset(wanted, std::move(whole));
    const std::int64_t elements = *element_count(shape);
    const std::size_t stored_row = static_cast<std::size_t>(elements) * dtype_bytes(stored);
    for (std::size_t i = 0; i < samples.size(); ++i)
      bring(bytes.subspan(static_cast<std::size_t>(first_ + samples[i]) * stored_row, stored_row), stored, wanted,
            to.bytes().data() + i * to.row_bytes(), elements);
  }

  std::shared_ptr<const Rows> rows_;
  std::int64_t first_;
  std::int64_t count_;
};

}  // namespace

std::unique_ptr<DataSource> make_row_source(std::shared_ptr<const Rows> rows, std::int64_t first, std::int64_t count) {
  return std::make_unique<RowSource>(std::move(rows), first, count);
}

}  // namespace switchyard
