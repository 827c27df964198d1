#include "store/safetensors_header.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/error.hpp"

namespace switchyard {
namespace {

using Json = nlohmann::json;

/// Text of the file for a message: on one line and not too long.
std::string shown(const std::string& text) {
  const std::string escaped = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return escaped.size() <= 202 ? escaped.substr(1, escaped.size() - 2) : escaped.substr(1, 200) + "...";
}

/// A tensor's entry while it is read; what is still missing is empty.
struct Entry {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<std::uint64_t>> shape;
  std::optional<std::vector<std::uint64_t>> offsets;
};

/// Receives the JSON's events. There is nothing but an object of (objects of strings or lists of numbers), so the
/// parser needs no tree and its memory is bounded by the header's length; depth is bounded by 3.
class Events : public nlohmann::json_sax<Json> {
 public:
  std::string reason;  // why the parser was stopped
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a truth value"); }
  bool number_float(number_float_t, const string_t& text) override { return unexpected("the number " + shown(text)); }
  bool number_integer(number_integer_t value) override {
    return unexpected("the negative number " + std::to_string(value));
  }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (where_ != Where::list) return unexpected("the number " + std::to_string(value));
    list_.push_back(value);
    return true;
  }

  bool string(string_t& text) override {
    if (where_ == Where::metadata) {
      if (!metadata.emplace(field_, text).second)
        return stop("the key '" + shown(field_) + "' stands twice in __metadata__");
      return true;
    }
    if (where_ != Where::tensor || field_ != "dtype") return unexpected("the text '" + shown(text) + "'");
    entries.back().dtype = text;
    return true;
  }

  bool start_object(std::size_t) override {
    if (where_ == Where::outside)
      where_ = Where::top;
    else if (where_ == Where::top && field_ == "__metadata__")
      where_ = Where::metadata;
    else if (where_ == Where::top)
      where_ = Where::tensor;
    else
      return unexpected("an object");
    return true;
  }

  bool end_object() override {
    where_ = where_ == Where::top ? Where::outside : Where::top;
    return true;
  }

  bool start_array(std::size_t) override {
    if (where_ != Where::tensor || (field_ != "shape" && field_ != "data_offsets")) return unexpected("a list");
    where_ = Where::list;
    list_.clear();
    return true;
  }

  bool end_array() override {
    where_ = Where::tensor;
    (field_ == "shape" ? entries.back().shape : entries.back().offsets) = list_;
    return true;
  }

  bool key(string_t& text) override {
    field_ = text;
    if (where_ == Where::top) return top_key(text);
    if (where_ == Where::tensor) return tensor_key(text);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    if (reason.empty())
      reason = "the header is not JSON (byte " + std::to_string(position) + "): " + shown(error.what());
    return false;
  }

 private:
  enum class Where { outside, top, metadata, tensor, list };

  bool top_key(const std::string& text) {
    if (!names_.insert(text).second) return stop("tensor '" + shown(text) + "' stands twice in the header");
    if (text != "__metadata__") entries.push_back({text, {}, {}, {}});
    return true;
  }

  bool tensor_key(const std::string& text) {
    const Entry& entry = entries.back();
    const bool twice = (text == "dtype" && entry.dtype) || (text == "shape" && entry.shape) ||
                       (text == "data_offsets" && entry.offsets);
    if (twice) return stop("the key '" + shown(text) + "' stands twice");
    if (text != "dtype" && text != "shape" && text != "data_offsets") return stop("unknown key '" + shown(text) + "'");
    return true;
  }

  bool stop(const std::string& text) {
    const bool inside = where_ == Where::tensor || where_ == Where::list;
    reason = inside ? "tensor '" + shown(entries.back().name) + "': " + text : text;
    return false;
  }

  bool unexpected(const std::string& found) {
    if (where_ == Where::outside) return stop("the header is not an object but " + found);
    return stop((where_ == Where::metadata ? "__metadata__: '" : "'") + shown(field_) + "' cannot be " + found);
  }

  Where where_ = Where::outside;
  std::string field_;
  std::vector<std::uint64_t> list_;
  std::unordered_set<std::string> names_;
};

/// Turns checked text into the header; every failure names the file and, where there is one, the tensor.
class Parser {
 public:
  Parser(std::span<const std::byte> file, const std::string& path) : file_(file), path_(path) {}

  SafetensorsHeader parse() {
    const std::string_view text = header_text();
    SafetensorsHeader header;
    header.data_begin = 8 + text.size();
    data_bytes_ = file_.size() - header.data_begin;
    Events events;
    if (!Json::sax_parse(text.begin(), text.end(), &events))
      fail(events.reason.empty() ? "the header is not JSON" : events.reason);
    header.metadata = std::move(events.metadata);
    header.tensors.reserve(events.entries.size());
    for (Entry& entry : events.entries) header.tensors.push_back(tensor(entry));
    check_layout(header.tensors);
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& text) const { throw Error(SY_E_DATA, Place{path_, 0, 0}, text); }
  [[noreturn]] void fail(const std::string& name, const std::string& text) const {
    fail("tensor '" + shown(name) + "': " + text);
  }

  std::string_view header_text() const {
    if (file_.size() < 8) fail("a safetensors file has at least 8 bytes, this one has " + std::to_string(file_.size()));
    std::uint64_t length = 0;
    for (int i = 7; i >= 0; --i) length = length << 8 | std::to_integer<std::uint64_t>(file_[i]);
    if (length > longest_safetensors_header)
      fail("the header's length is " + std::to_string(length) + ", at most " +
           std::to_string(longest_safetensors_header) + " is allowed: this is no safetensors file");
    if (length > file_.size() - 8)
      fail("the header's length is " + std::to_string(length) + ", but only " + std::to_string(file_.size() - 8) +
           " bytes follow: the file is cut off, or no safetensors file");
    const std::string_view text(reinterpret_cast<const char*>(file_.data()) + 8, length);
    if (text.empty() || text.front() != '{') fail("the header does not begin with '{'");
    if (text.find('\0') != text.npos) fail("the header holds a NUL byte");  // the JSON parser would stop there
    return text;
  }

  TensorInfo tensor(Entry& entry) const {
    if (!entry.dtype) fail(entry.name, "'dtype' is missing");
    if (!entry.shape) fail(entry.name, "'shape' is missing");
    if (!entry.offsets) fail(entry.name, "'data_offsets' is missing");
    const auto type = dtype_from_safetensors(*entry.dtype);
    if (!type) fail(entry.name, "unknown type '" + shown(*entry.dtype) + "'");
    TensorInfo info{std::move(entry.name), *type, {}, 0, 0};
    for (std::uint64_t dimension : *entry.shape) {
      if (dimension > INT64_MAX) fail(info.name, "the dimension " + std::to_string(dimension) + " is too large");
      info.shape.push_back(static_cast<std::int64_t>(dimension));
    }
    set_offsets(info, *entry.offsets);
    return info;
  }

  void set_offsets(TensorInfo& info, const std::vector<std::uint64_t>& offsets) const {
    if (offsets.size() != 2)
      fail(info.name, "'data_offsets' has " + std::to_string(offsets.size()) + " numbers instead of 2");
    const std::string span = "[" + std::to_string(offsets[0]) + ", " + std::to_string(offsets[1]) + "]";
    if (offsets[1] < offsets[0]) fail(info.name, "'data_offsets' " + span + " end before they begin");
    if (offsets[1] > data_bytes_)
      fail(info.name, "'data_offsets' " + span + " pass the end of the data, " + std::to_string(data_bytes_));
    info.begin = offsets[0];
    info.bytes = offsets[1] - offsets[0];
    const auto needed = byte_count(info.shape, info.dtype);
    const std::string kind = std::string(safetensors_name(info.dtype)) + " " + shape_text(info.shape);
    if (!needed) fail(info.name, "the size of " + kind + " passes 2^63");
    if (static_cast<std::uint64_t>(*needed) != info.bytes)
      fail(info.name, kind + " needs " + std::to_string(*needed) + " bytes, 'data_offsets' " + span + " give " +
                          std::to_string(info.bytes));
  }

  /// Sorts by offset: each tensor must begin where the one before it ends.
  void check_layout(std::vector<TensorInfo>& tensors) const {
    std::sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
      return std::tie(a.begin, a.bytes, a.name) < std::tie(b.begin, b.bytes, b.name);
    });
    std::uint64_t end = 0;
    const std::string* before = nullptr;
    for (const TensorInfo& info : tensors) {
      if (info.begin < end) fail(info.name, "overlaps tensor '" + shown(*before) + "'");
      if (info.begin > end) fail(info.name, hole(info.begin - end) + " before it");
      end += info.bytes;
      before = &info.name;
    }
    if (end != data_bytes_) fail(hole(data_bytes_ - end) + " at the end of the file");
  }

  static std::string hole(std::uint64_t bytes) { return std::to_string(bytes) + " bytes belong to no tensor"; }

  std::span<const std::byte> file_;
  const std::string& path_;
  std::uint64_t data_bytes_ = 0;
};

std::string in_header(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    throw Error(SY_E_ARGUMENT, "'" + shown(text) + "' is not UTF-8 and cannot stand in a header");
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file, const std::string& path) {
  return Parser(file, path).parse();
}

std::string make_safetensors_header(const std::vector<TensorInfo>& tensors,
                                    const std::map<std::string, std::string>& metadata) {
  std::string json;
  for (const auto& [key, value] : metadata) json += (json.empty() ? "" : ",") + in_header(key) + ":" + in_header(value);
  if (!json.empty()) json = "\"__metadata__\":{" + json + "}";
  for (const TensorInfo& info : tensors) {
    if (!json.empty()) json += ",";
    json += in_header(info.name) + ":{\"dtype\":\"" + safetensors_name(info.dtype) +
            "\",\"shape\":" + Json(info.shape).dump() + ",\"data_offsets\":[" + std::to_string(info.begin) + "," +
            std::to_string(info.begin + info.bytes) + "]}";
  }
  json = "{" + json + "}";
  json.append((8 - json.size() % 8) % 8, ' ');
  std::string length(8, '\0');
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(static_cast<std::uint64_t>(json.size()) >> (8 * i));
  return length + json;
}

}  // namespace switchyard
