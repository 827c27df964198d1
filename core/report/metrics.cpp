#include "report/metrics.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "report/json_string.hpp"
#include "store/file_error.hpp"
#include "store/mapped_file.hpp"

namespace switchyard {
namespace {

using Json = nlohmann::ordered_json;

/// The fewest digits that a reader of doubles turns into the same bits.
std::string digits(double value) {
  char text[32];
  const auto result = std::to_chars(text, text + sizeof text, value);
  return {text, result.ptr};
}

/// Builds the line; what is absent or not finite leaves no trace.
class Line {
 public:
  void add(const std::string& key, std::int64_t value) { put(key, std::to_string(value)); }
  void add(const std::string& key, double value) {
    if (std::isfinite(value)) put(key, digits(value));
  }
  template <class T>
  void add(const std::string& key, const std::optional<T>& value) {
    if (value) add(key, *value);
  }
  void put(const std::string& key, const std::string& json) {
    text_ += (text_.empty() ? "" : ", ") + json_string(key) + ": " + json;
  }
  std::string object() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

/// The whole lines of a file: those that have their end.
std::vector<std::string> whole_lines(const std::string& path) {
  std::vector<std::string> lines;
  if (!std::filesystem::exists(path)) return lines;
  const MappedFile file = MappedFile::open(path);
  std::string_view rest(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  for (auto end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
    lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return lines;
}

int open_file(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0666);
  if (fd < 0) throw file_error("write", path, errno);
  return fd;
}

}  // namespace

std::string metrics_line(const Metrics& metrics) {
  Line line;
  line.add("step", metrics.step);
  line.add("loss", metrics.loss);
  line.add("grad_norm", metrics.grad_norm);
  line.add("lr", metrics.lr);
  line.add("tokens", metrics.tokens);
  line.add("tokens_per_s", metrics.tokens_per_s);
  line.add("seconds", metrics.seconds);
  line.add("val_loss", metrics.val_loss);
  if (!metrics.peak_bytes.empty()) {
    Line devices;
    for (const auto& [device, bytes] : metrics.peak_bytes) devices.add(device, bytes);
    line.put("peak_bytes", devices.object());
  }
  if (!metrics.idle.empty()) {
    Line devices;
    for (const auto& [device, share] : metrics.idle) devices.add(device, share);
    line.put("idle", devices.object());
  }
  for (const auto& [key, value] : metrics.more) line.add(key, value);
  return line.object();
}

Metrics parse_metrics(const std::string& text) {
  const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer())
    throw Error(SY_E_DATA, "this is no report: an object with a whole number 'step' is wanted");
  Metrics metrics;
  metrics.step = line["step"].get<std::int64_t>();
  const std::pair<const char*, std::optional<double>*> known[] = {
      {"loss", &metrics.loss},       {"grad_norm", &metrics.grad_norm},
      {"lr", &metrics.lr},           {"tokens_per_s", &metrics.tokens_per_s},
      {"seconds", &metrics.seconds}, {"val_loss", &metrics.val_loss}};
  for (const auto& [key, value] : line.items()) {
    if (key == "step") continue;
    if (key == "peak_bytes" && value.is_object())
      for (const auto& [device, bytes] : value.items())
        metrics.peak_bytes.emplace_back(device, bytes.get<std::int64_t>());
    if (key == "idle" && value.is_object())
      for (const auto& [device, share] : value.items()) metrics.idle.emplace_back(device, share.get<double>());
    if (!value.is_number()) continue;
    const auto* at =
        std::find_if(std::begin(known), std::end(known), [&](const auto& entry) { return key == entry.first; });
    if (at != std::end(known))
      *at->second = value.get<double>();
    else if (key == "tokens")
      metrics.tokens = value.get<std::int64_t>();
    else
      metrics.more.emplace_back(key, value.get<double>());
  }
  return metrics;
}

std::vector<Metrics> read_metrics(const std::string& path) {
  std::vector<Metrics> reports;
  const auto lines = whole_lines(path);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    try {
      reports.push_back(parse_metrics(lines[i]));
    } catch (const std::exception& error) {  // of the JSON library too: a number where none belongs
      throw Error(SY_E_DATA, Place{path, static_cast<int>(i) + 1, 1}, error.what());
    }
  }
  return reports;
}

MetricsFile MetricsFile::create(const std::string& path) { return {path, open_file(path, O_TRUNC)}; }

MetricsFile MetricsFile::resume(const std::string& path, std::int64_t step, std::vector<Metrics>* kept) {
  const auto reports = read_metrics(path);
  const auto lines = whole_lines(path);
  std::size_t count = 0;
  off_t bytes = 0;
  for (; count < reports.size() && reports[count].step <= step; ++count)
    bytes += static_cast<off_t>(lines[count].size()) + 1;
  MetricsFile file{path, open_file(path, 0)};
  if (::ftruncate(file.fd_, bytes) != 0) throw file_error("write", path, errno);
  if (kept) kept->assign(reports.begin(), reports.begin() + static_cast<std::ptrdiff_t>(count));
  return file;
}

MetricsFile::MetricsFile(MetricsFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

MetricsFile& MetricsFile::operator=(MetricsFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

MetricsFile::~MetricsFile() {
  if (fd_ >= 0) ::close(fd_);
}

void MetricsFile::write(const Metrics& metrics) {
  const std::string line = metrics_line(metrics) + "\n";
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t done = ::write(fd_, line.data() + at, line.size() - at);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw file_error("write", path_, errno);
    at += static_cast<std::size_t>(done);
  }
}

}  // namespace switchyard
