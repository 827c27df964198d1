// Aligned columns of plain text.
#pragma once

#include <string>
#include <vector>

namespace switchyard {

enum class Align { left, right };

/// Rows of cells, printed with two blanks between columns and none at a line's end. Widths count code points of UTF-8.
class TextTable {
 public:
  /// One entry for each column; `header` may be empty (no header line is printed then).
  explicit TextTable(std::vector<Align> columns, std::vector<std::string> header = {});
  /// Fewer cells than columns: the rest is empty. More: SY_E_INTERNAL.
  void add(std::vector<std::string> cells);
  /// All lines, each with its end, each starting with `indent` blanks.
  std::string text(int indent = 0) const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace switchyard
