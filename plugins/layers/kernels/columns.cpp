#include "columns.hpp"

#include "dispatch.hpp"
#include "row_groups.hpp"

namespace sy::kernels {

void column_sum(const lane& on, sy_dtype type, int64_t rows, int64_t columns, const void* x, sum to, void* scratch) {
  expect_float("column_sum", type);
  expect_sum("column_sum", to);
  if (rows > 0 && columns > 0 && to) SY_ON_LANE(on, column_sum, type, rows, columns, x, to, scratch);
}

uint64_t column_sum_scratch(const lane&, sy_dtype type, int64_t rows, int64_t columns) {
  const uint64_t cpu = static_cast<uint64_t>(cpu_groups(rows).count * columns) * wide(type).bits / 8;
#ifdef SWITCHYARD_WITH_CUDA
  return std::max(cpu, cuda::column_sum_scratch(type, rows, columns));
#else
  return cpu;
#endif
}

void pack(const lane& on, sy_dtype type, int64_t rows, int64_t inner, int64_t head_width, const packed_part* parts,
          int64_t n_parts, void* to, sum bias_gradient, void* scratch) {
  expect_float("pack", type);
  expect_sum("pack", bias_gradient);
  if (n_parts > most_parts) throw fault(SY_E_ARGUMENT, "pack: more than " + std::to_string(most_parts) + " parts");
  if (rows > 0 && n_parts > 0 && head_width > 0)
    SY_ON_LANE(on, pack, type, rows, inner, head_width, parts, n_parts, to, bias_gradient, scratch);
}

}  // namespace sy::kernels
