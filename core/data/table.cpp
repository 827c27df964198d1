#include "data/table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "data/csv.hpp"
#include "store/mapped_file.hpp"

namespace switchyard {
namespace {

/// What a table's rows point into.
struct Storage {
  std::vector<float> inputs;
  std::vector<float> values;
  std::vector<std::int64_t> ids;
};

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == text.npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// A finite fp32 number, blanks around it allowed; nothing for anything else.
std::optional<float> number(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  const float rounded = static_cast<float>(value);
  if (!std::isfinite(rounded)) return std::nullopt;
  return rounded;
}

/// A field for a message: on one line and not too long.
std::string shown(const std::string& text) {
  std::string line = text.substr(0, 40);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return text.size() > 40 ? line + "..." : line;
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < 20; ++i) text += (i ? ", '" : "'") + shown(names[i]) + "'";
  return names.size() > 20 ? text + ", ..." : text;
}

/// Reads one file.
class Reader {
 public:
  Reader(const std::string& path, const TableOptions& options)
      : path_(path),
        options_(options),
        file_(MappedFile::open(path)),
        csv_({reinterpret_cast<const char*>(file_.bytes().data()), file_.bytes().size()}, path) {}

  Table read() {
    read_header();
    read_rows();
    Table table;
    Rows rows;
    set_target(rows.targets);
    rows.inputs = {{static_cast<std::int64_t>(columns_.size()) - 1}, dtype::f32, 0};
    rows.count = static_cast<std::int64_t>(targets_.size());
    rows.stored_inputs = dtype::f32;
    rows.stored_targets = rows.targets.dtype;
    rows.input_bytes = std::as_bytes(std::span(storage_->inputs));
    rows.target_bytes = rows.targets.kind == TargetKind::classes ? std::as_bytes(std::span(storage_->ids))
                                                                 : std::as_bytes(std::span(storage_->values));
    rows.owner = storage_;
    table.columns = std::move(columns_);
    table.rows = std::make_shared<const Rows>(std::move(rows));
    return table;
  }

 private:
  [[noreturn]] void fail(const CsvField& field, const std::string& text) const {
    throw Error(SY_E_DATA, Place{path_, field.line, field.column}, text);
  }
  [[noreturn]] void fail_config(const std::string& text) const { throw Error(SY_E_CONFIG, Place{path_, 1, 1}, text); }

  void read_header() {
    std::vector<CsvField> fields;
    if (!csv_.next(fields)) fail_config("the table is empty; its first line names the columns");
    std::set<std::string> seen;
    for (const CsvField& field : fields) {
      if (!seen.insert(field.text).second) fail(field, "column '" + shown(field.text) + "' stands twice in the header");
      columns_.push_back(field.text);
    }
    const auto at = std::find(columns_.begin(), columns_.end(), options_.target);
    if (at == columns_.end())
      fail_config("there is no column '" + options_.target + "' for data.target; the columns are " + list(columns_));
    if (columns_.size() < 2) fail_config("there is no column besides the target '" + options_.target + "'");
    if (options_.columns && *options_.columns != columns_)
      fail_config("the columns are " + list(columns_) + ", in training they are " + list(*options_.columns));
    target_ = static_cast<std::size_t>(at - columns_.begin());
  }

  void read_rows() {
    std::vector<CsvField> fields;
    while (csv_.next(fields, columns_.size())) {
      for (std::size_t i = 0; i < fields.size(); ++i)
        if (i != target_) storage_->inputs.push_back(input(fields[i], columns_[i]));
      targets_.push_back(std::move(fields[target_]));
    }
  }

  float input(const CsvField& field, const std::string& column) const {
    if (const auto value = number(field.text)) return *value;
    fail(field, "column '" + column + "' holds '" + shown(field.text) + "', a finite number is wanted");
  }

  /// Decides what the target column is and stores it.
  void set_target(TargetSpec& spec) {
    const auto name =
        std::find_if(targets_.begin(), targets_.end(), [](const CsvField& field) { return !number(field.text); });
    if (options_.kind == TargetKind::tokens) fail_config("a table has no tokens as targets");
    if (name != targets_.end() || options_.classes) {
      if (options_.kind == TargetKind::values && name != targets_.end())
        fail(*name,
             "column '" + options_.target + "' holds '" + shown(name->text) + "', the loss wants a finite number");
      set_named_classes(spec);
    } else if (options_.kind == TargetKind::classes) {
      set_numbered_classes(spec);
    } else {
      spec = {TargetKind::values, {1}, dtype::f32, 0, {}};
      for (const CsvField& field : targets_) storage_->values.push_back(*number(field.text));
    }
  }

  void set_named_classes(TargetSpec& spec) {
    std::vector<std::string> names;
    if (options_.classes) {
      names = *options_.classes;
    } else {
      std::set<std::string> sorted;
      for (const CsvField& field : targets_) sorted.insert(field.text);
      names.assign(sorted.begin(), sorted.end());
    }
    for (const CsvField& field : targets_) {
      const auto at = std::lower_bound(names.begin(), names.end(), field.text);
      if (at == names.end() || *at != field.text)
        fail(field, "class '" + shown(field.text) + "' is not in the training table, which has " + list(names));
      storage_->ids.push_back(at - names.begin());
    }
    spec = {TargetKind::classes, {}, id_dtype, static_cast<std::int64_t>(names.size()), std::move(names)};
  }

  void set_numbered_classes(TargetSpec& spec) {
    std::int64_t limit = 0;
    for (const CsvField& field : targets_) {
      const float value = *number(field.text);
      const auto id = static_cast<std::int64_t>(std::clamp(value, -1e9f, 1e9f));
      if (static_cast<float>(id) != value || (id < 0 && id != options_.ignore) || id >= 1 << 24)
        fail(field, "column '" + options_.target + "' holds '" + shown(field.text) +
                        "', the loss wants class ids 0, 1, 2, ... or names");
      storage_->ids.push_back(id);
      limit = std::max(limit, id + 1);
    }
    spec = {TargetKind::classes, {}, id_dtype, limit, {}};
  }

  const std::string& path_;
  const TableOptions& options_;
  MappedFile file_;
  CsvReader csv_;
  std::vector<std::string> columns_;
  std::size_t target_ = 0;
  std::vector<CsvField> targets_;
  std::shared_ptr<Storage> storage_ = std::make_shared<Storage>();
};

}  // namespace

Table read_table(const std::string& path, const TableOptions& options) { return Reader(path, options).read(); }

}  // namespace switchyard
