#include "report/text_table.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "report/columns.hpp"

namespace switchyard {

TextTable::TextTable(std::vector<Align> columns, std::vector<std::string> header) : columns_(std::move(columns)) {
  if (!header.empty()) add(std::move(header));
}

void TextTable::add(std::vector<std::string> cells) {
  if (cells.size() > columns_.size()) throw Error(SY_E_INTERNAL, "a row of a table has more cells than columns");
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(int indent) const {
  std::vector<std::size_t> widths(columns_.size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  std::string result;
  for (const auto& row : rows_) {
    std::string line(static_cast<std::size_t>(indent), ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - columns_of(row[i]), ' ');
      line += (i ? "  " : "") + (columns_[i] == Align::right ? blanks + row[i] : row[i] + blanks);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

}  // namespace switchyard
