#include "train/random_batch.hpp"

#include <string>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "switchyard/random.h"

namespace switchyard {
namespace {

/// Fills one row.
void draw_row(HostTensor& tensor, std::int64_t row, std::int64_t limit, const std::uint32_t key[2],
              std::uint32_t step) {
  const auto count = static_cast<std::int64_t>(tensor.row_bytes() / dtype_bytes(tensor.dtype()));
  for (std::int64_t e = 0; e < count; e += 4) {
    std::uint32_t words[4];
    double normals[4];
    sy_random_block(key, step, static_cast<std::uint32_t>(row), static_cast<std::uint64_t>(e), words);
    sy_normal4(words, normals);
    for (std::int64_t i = 0; i < 4 && e + i < count; ++i) {
      const auto at = static_cast<std::size_t>(row * count + e + i);
      if (tensor.dtype() == id_dtype)
        tensor.values<std::int64_t>()[at] =
            static_cast<std::int64_t>(sy_random_below(words[i], words[(i + 1) % 4], static_cast<std::uint64_t>(limit)));
      else
        tensor.values<float>()[at] = static_cast<float>(normals[i]);
    }
  }
}

void draw(HostTensor& tensor, const Port& port, const char* name, std::uint64_t seed, std::int64_t step) {
  const bool ids = is_integer(port.dtype);
  if (ids && port.id_limit == 0)
    throw Error(SY_E_CONFIG,
                std::string("the model takes ids as ") + name + ", and no layer says how many there are; add [data]");
  tensor.reset(ids ? id_dtype : dtype::f32, port.shape);
  std::uint32_t key[2];
  sy_random_key(seed, sy_hash_name(name), key);
  for (std::int64_t row = 0; row < tensor.rows(); ++row)
    draw_row(tensor, row, port.id_limit, key, static_cast<std::uint32_t>(step));
}

}  // namespace

Batch random_batch(Model& model, std::int64_t rows, std::uint64_t seed, std::int64_t step) {
  const Shapes& shapes = model.shapes(SY_TRAIN, rows);
  Batch batch;
  for (std::int64_t row = 0; row < rows; ++row) batch.samples.push_back(row);
  draw(batch.inputs, shapes.batch_inputs, "random.inputs", seed, step);
  draw(batch.targets, shapes.batch_targets, "random.targets", seed, step);
  return batch;
}

}  // namespace switchyard
