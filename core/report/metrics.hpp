// metrics.jsonl: one JSON object per report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace switchyard {

/// One report. What is absent, or is not a finite number, has no key in the line.
struct Metrics {
  std::int64_t step = 0;       // counts from 1
  std::optional<double> loss;  // before the update; a float is read back bit for bit
  std::optional<double> grad_norm;
  std::optional<double> lr;
  std::optional<std::int64_t> tokens;  // or samples seen, where the model has no tokens
  std::optional<double> tokens_per_s;
  std::optional<double> seconds;  // since training began
  std::optional<double> val_loss;
  std::vector<std::pair<std::string, std::int64_t>> peak_bytes;  // device name, bytes; in the order of the plan
  std::vector<std::pair<std::string, double>> idle;  // device name, share of the passes since the last report
  std::vector<std::pair<std::string, double>> more;  // further numbers: accuracy, loss_scale, ...
};

/// The line without its end. Numbers have the fewest digits that read back to the same bits: a value that is exactly a
/// float as a float's, any other as a double's.
std::string metrics_line(const Metrics& metrics);
/// The reverse; keys that are not known and hold a number go to `more`. Error SY_E_DATA: no object, or no step.
Metrics parse_metrics(const std::string& line);
/// All whole lines of a file; none if there is no file. A last line that was cut off is left out; a broken line before
/// is SY_E_DATA with file:line.
std::vector<Metrics> read_metrics(const std::string& path);

/// Appends to a run's metrics.jsonl; each line is in the system's hands when write() returns. One thread at a time.
class MetricsFile {
 public:
  /// Starts the file anew.
  static MetricsFile create(const std::string& path);
  /// Continues after `step`: lines of later steps, which a run wrote after its last checkpoint, and a cut-off last line
  /// are removed. `kept`, where given, gets the lines that stay.
  static MetricsFile resume(const std::string& path, std::int64_t step, std::vector<Metrics>* kept = nullptr);
  MetricsFile(MetricsFile&& other) noexcept;
  MetricsFile& operator=(MetricsFile&& other) noexcept;
  ~MetricsFile();
  /// Errors: SY_E_UNAVAILABLE and the like (file_error).
  void write(const Metrics& metrics);

 private:
  MetricsFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_ = -1;
};

}  // namespace switchyard
