// `[data]`: opens what the table names and splits it into a part to learn and a held-out part.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "data/sample_order.hpp"
#include "data/source.hpp"

namespace switchyard {

/// `[data]` and what of the other tables decides about samples. Exactly one of text, table, tensors, synthetic is
/// given.
struct DataOptions {
  std::vector<std::string> text;  // files, read one after the other
  std::string table;              // CSV
  std::string target;             // the table's target column
  std::string tensors;            // safetensors with `inputs` and `targets`
  std::string synthetic;          // "tokens"
  std::string tokenizer = "bytes";
  double validation = 0.1;      // the held-out share, in [0, 1); not used with a file
  std::string validation_file;  // held-out samples of their own, of the same kind
  bool shuffled = true;         // order = "shuffled" | "given"
  bool drop_last = true;
  std::int64_t ignore = -100;

  std::int64_t context = 0;           // model.context, for text and synthetic tokens
  std::int64_t vocabulary = 0;        // the model's, for synthetic tokens
  std::optional<bool> ids;            // what the model reads from tensors: ids or numbers; nothing: integers are ids
  std::optional<TargetKind> targets;  // what the loss wants; nothing: as the data suggests
  std::uint64_t seed = 0;
  Place place;  // of the table, for errors
};

/// The two parts. Movable; the sources may be read from several threads.
struct DataSet {
  std::unique_ptr<DataSource> train;
  std::unique_ptr<DataSource> validation;  // nullptr: nothing is held out

  /// The samples of optimizer steps, from `options` and the training part.
  SampleOrder order(std::int64_t batch) const;
  /// The samples to evaluate on: for windows of tokens `windows` of them, evenly spaced over the held-out part (all, if
  /// there are fewer), otherwise every held-out sample in order. Empty without a held-out part.
  std::vector<std::int64_t> evaluation_samples(std::int64_t windows) const;

  DataOptions options;
};

/// Errors: SY_E_CONFIG for what the table says (too short a text names the part, what it has and what it needs; an
/// empty part; an unknown column), SY_E_DATA for what a file holds (file:line:column), SY_E_NOT_FOUND for a missing
/// file.
DataSet open_data(const DataOptions& options);

}  // namespace switchyard
