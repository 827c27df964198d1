// Where batches come from: one small interface over text, tables, tensor files and synthetic tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/host_tensor.hpp"

namespace switchyard {

/// Token and class ids, in inputs and targets of every source.
inline constexpr sy_dtype id_dtype = dtype::i64;

/// What a source gives as the model's input: fp32 numbers, or token ids below `id_limit`.
struct InputSpec {
  std::vector<std::int64_t> shape;  // of one sample: [T] for tokens, [columns] for a table
  sy_dtype dtype{};                 // fp32 or id_dtype
  std::int64_t id_limit = 0;        // ids are 0 .. id_limit - 1; 0: no ids, or the source does not know
};

enum class TargetKind { tokens, classes, values };

/// What a source gives as targets.
struct TargetSpec {
  TargetKind kind = TargetKind::values;
  std::vector<std::int64_t> shape;       // of one sample: [T] tokens, [] one class id, [n] numbers
  sy_dtype dtype{};                      // id_dtype, or fp32 for values
  std::int64_t id_limit = 0;             // as for inputs: the vocabulary, or the number of classes
  std::vector<std::string> class_names;  // by id; empty where classes were given as numbers
};

/// Samples as the model takes them; dimension 0 of both tensors counts samples.
struct Batch {
  std::vector<std::int64_t> samples;  // the numbers of the samples in their source, row by row
  HostTensor inputs;
  HostTensor targets;
  std::int64_t rows() const { return inputs.rows(); }
};

/// A fixed set of numbered samples. Reading is [any]: fill() may be called from several threads with different batches.
class DataSource {
 public:
  virtual ~DataSource() = default;
  /// Samples are numbered 0 .. samples() - 1. For text a sample is a window and its number the window's first token.
  virtual std::int64_t samples() const = 0;
  virtual InputSpec inputs() const = 0;
  virtual TargetSpec targets() const = 0;
  /// Fills `batch` with these samples, in this order. Error SY_E_ARGUMENT: a number out of range.
  virtual void fill(std::span<const std::int64_t> samples, Batch& batch) const = 0;
};

/// SY_E_ARGUMENT unless every number is in 0 .. count - 1.
void check_samples(std::span<const std::int64_t> samples, std::int64_t count);

}  // namespace switchyard
