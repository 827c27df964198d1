#include "train/run_files.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "report/loss_svg.hpp"
#include "store/atomic_file.hpp"

namespace switchyard {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

RunFiles::RunFiles(const RunFolder& folder, const Config& config, const std::string& plan_json, std::int64_t step,
                   const std::string& earlier)
    : folder_(folder), title_(std::filesystem::path(folder.path()).filename().string()) {
  write_file_atomically(folder.config(), to_toml(config));
  write_file_atomically(folder.plan(), plan_json);
  if (earlier.empty() || earlier == folder.path()) {
    metrics_ = MetricsFile::resume(folder.metrics(), step, &reports_);
    return;
  }
  metrics_ = MetricsFile::create(folder.metrics());
  for (const Metrics& metrics : read_metrics(earlier + "/metrics.jsonl"))
    if (metrics.step <= step) write(metrics);
}

void RunFiles::write(const Metrics& metrics) {
  metrics_->write(metrics);
  reports_.push_back(metrics);
}

void RunFiles::draw() const { write_file_atomically(folder_.loss_curve(), loss_svg(reports_, title_)); }

void RunFiles::sample(std::int64_t step, const std::string& prompt, const std::string& text) {
  std::string all = step == 0 ? "" : read_text(folder_.sample());
  all += "After " + std::to_string(step) + " steps\n" + prompt + text + "\n\n";
  write_file_atomically(folder_.sample(), all);
}

double RunFiles::seconds() const { return reports_.empty() ? 0 : reports_.back().seconds.value_or(0); }

}  // namespace switchyard
