// Comma-separated values as RFC 4180 has them, with the place of every field.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace switchyard {

struct CsvField {
  std::string text;  // without quotes; a doubled quote inside is one
  int line = 0;      // where it starts; lines and columns (bytes) count from 1
  int column = 0;
};

/// Reads one record after the other. Lines end with LF or CR LF, the last one may lack its end; fields in quotes may
/// hold commas, quotes (doubled) and line ends; blanks belong to a field; empty lines are skipped; a leading byte order
/// mark is skipped. Errors are SY_E_DATA with file:line:column.
class CsvReader {
 public:
  /// `text` is lent for the reader's life; `file` is for errors.
  CsvReader(std::string_view text, std::string file);
  /// The next record into `fields` (reused); false at the end. Errors: a quote that does not end, or text around
  /// quotes.
  bool next(std::vector<CsvField>& fields);
  /// Like next(), for records below a header: an error when the number of fields is not `columns`.
  bool next(std::vector<CsvField>& fields, std::size_t columns);

 private:
  void field(CsvField& out);
  void quoted(CsvField& out);
  std::size_t line_end() const;
  void advance(std::size_t bytes);
  [[noreturn]] void fail(int line, int column, const std::string& text) const;

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  int line_ = 1;
  int column_ = 1;
};

}  // namespace switchyard
