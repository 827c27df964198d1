// Samples that lie row by row in memory or in a mapped file: tables and tensor files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "data/source.hpp"

namespace switchyard {

/// Stored rows of inputs and targets, converted to what the specs say when they are read. Read-only once shared.
struct Rows {
  InputSpec inputs;
  TargetSpec targets;
  std::int64_t count = 0;
  sy_dtype stored_inputs{};  // a float type or an integer type
  sy_dtype stored_targets{};
  std::span<const std::byte> input_bytes;  // row-major; owned by `owner`
  std::span<const std::byte> target_bytes;
  std::shared_ptr<const void> owner;
};

/// Rows [first, first + count) as samples 0 .. count - 1.
std::unique_ptr<DataSource> make_row_source(std::shared_ptr<const Rows> rows, std::int64_t first, std::int64_t count);

}  // namespace switchyard
