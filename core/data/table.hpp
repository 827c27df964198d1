// Tables: CSV files with a header, numbers in every column but the target.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/rows.hpp"

namespace switchyard {

struct TableOptions {
  std::string target;  // a column's name
  std::optional<TargetKind> kind;
  std::int64_t ignore = -100;
  /// Of a training table, where this is its validation table: the columns must be the same, the classes known.
  const std::vector<std::string>* columns = nullptr;
  const std::vector<std::string>* classes = nullptr;
};

struct Table {
  std::vector<std::string> columns;  // all of them, in the file's order
  std::shared_ptr<const Rows> rows;
};

/// Reads a table. Inputs are the columns besides the target, as fp32 [columns]. The target is
///   * class names: ids 0, 1, ... in the byte order of the names, when a field of the column is no number;
///   * numbers [1] as fp32 when all fields are numbers, or, when `kind` asks for classes, whole numbers as ids.
/// Errors: SY_E_CONFIG (no such column; the target is not of the kind asked for; other columns than in training),
/// SY_E_DATA with file:line:column (a field that is no finite number, a class that training does not have, broken CSV).
Table read_table(const std::string& path, const TableOptions& options);

}  // namespace switchyard
