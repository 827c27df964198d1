#include "data/csv.hpp"

#include <utility>

namespace switchyard {

CsvReader::CsvReader(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {
  if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
}

bool CsvReader::next(std::vector<CsvField>& fields) {
  while (at_ < text_.size() && line_end() > 0) advance(line_end());
  if (at_ == text_.size()) return false;
  std::size_t count = 0;
  for (bool more = true; more; ++count) {
    if (count == fields.size()) fields.emplace_back();
    field(fields[count]);
    more = at_ < text_.size() && text_[at_] == ',';
    if (more) advance(1);
  }
  fields.resize(count);
  advance(line_end());
  return true;
}

bool CsvReader::next(std::vector<CsvField>& fields, std::size_t columns) {
  if (!next(fields)) return false;
  if (fields.size() != columns)
    fail(fields[0].line, 1,
         "this line has " + std::to_string(fields.size()) + " fields, the header has " + std::to_string(columns));
  return true;
}

/// Reads up to a comma, a line's end or the end of the text.
void CsvReader::field(CsvField& out) {
  out.text.clear();
  out.line = line_;
  out.column = column_;
  if (at_ < text_.size() && text_[at_] == '"') {
    quoted(out);
    if (at_ < text_.size() && text_[at_] != ',' && line_end() == 0)
      fail(line_, column_, "text after a closing quote; a quote inside quotes is written twice");
    return;
  }
  while (at_ < text_.size() && text_[at_] != ',' && line_end() == 0) {
    if (text_[at_] == '"') fail(line_, column_, "a quote inside a field; put the whole field into quotes");
    out.text += text_[at_];
    advance(1);
  }
}

void CsvReader::quoted(CsvField& out) {
  advance(1);
  while (at_ < text_.size()) {
    if (text_[at_] != '"') {
      out.text += text_[at_];
      advance(1);
    } else if (text_.substr(at_).starts_with("\"\"")) {
      out.text += '"';
      advance(2);
    } else {
      advance(1);
      return;
    }
  }
  fail(out.line, out.column, "this quote does not end");
}

/// Bytes of the line's end that stands here; 0: none does.
std::size_t CsvReader::line_end() const {
  const std::string_view rest = text_.substr(at_);
  return rest.starts_with("\r\n") ? 2 : rest.starts_with('\n') ? 1 : 0;
}

void CsvReader::advance(std::size_t bytes) {
  for (; bytes > 0; --bytes, ++at_) {
    if (text_[at_] == '\n') {
      ++line_;
      column_ = 1;
    } else {
      ++column_;
    }
  }
}

void CsvReader::fail(int line, int column, const std::string& text) const {
  throw Error(SY_E_DATA, Place{file_, line, column}, text);
}

}  // namespace switchyard
