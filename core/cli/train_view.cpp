#include "train_view.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace cli {

namespace {

using Json = nlohmann::ordered_json;
using switchyard::bytes_text;
using switchyard::count_text;
using switchyard::duration_text;

std::string label(const std::string& word) { return word + std::string(word.size() < 9 ? 9 - word.size() : 1, ' '); }

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 0, ' ');
}

/// "1 hand-over each way, 256 KiB"
std::string transfers_text(const Json& transfers) {
  const int64_t forward = transfers["forward"], backward = transfers["backward"];
  if (forward + backward == 0) return "";
  std::string text = std::to_string(forward) + (forward == 1 ? " hand-over " : " hand-overs ");
  text += forward == backward ? "each way" : "forward and " + std::to_string(backward) + " back";
  return text + ", " + bytes_text(transfers["forward_bytes"].get<int64_t>());
}

std::string plan_headline(const Json& plan) {
  std::string text = label("Plan") + plan["policy"].get<std::string>() + ", " + plan["schedule"].get<std::string>();
  const int64_t count = plan["micro_batches"]["count"];
  text += ", " + std::to_string(count) + (count == 1 ? " micro-batch" : " micro-batches");
  const std::string transfers = transfers_text(plan["transfers"]);
  return text + (transfers.empty() ? "" : "; " + transfers);
}

/// "cpu:0  embed, h.0 .. h.1   0.45 M parameters   61 MiB   idle 20 %"
std::vector<std::string> device_lines(const Json& plan) {
  std::size_t name_width = 0, layer_width = 0;
  for (const Json& d : plan["devices"]) {
    name_width = std::max(name_width, d["name"].get<std::string>().size());
    layer_width = std::max(layer_width, d["layers"].get<std::string>().size());
  }
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < plan["devices"].size(); ++i) {
    const Json& d = plan["devices"][i];
    std::string line = label("") + padded(d["name"], name_width) + "  " + padded(d["layers"], layer_width) + "   " +
                       count_text(d["parameters"].get<double>()) + " parameters   " +
                       bytes_text(d["memory"]["peak"].get<int64_t>());
    const double idle = plan["prediction"]["idle"][i];
    if (plan["devices"].size() > 1) line += "   idle " + std::to_string(std::lround(idle * 100)) + " %";
    lines.push_back(line);
  }
  return lines;
}

const sy_peak* fullest(const sy_report& report) {
  const sy_peak* found = nullptr;
  for (uint32_t i = 0; i < report.n_peaks; ++i)
    if (!found || report.peaks[i]->measured > found->measured) found = report.peaks[i];
  return found;
}

std::optional<double> unless_nan(double value) { return std::isnan(value) ? std::nullopt : std::optional(value); }

switchyard::Progress progress_of(const sy_report& r) {
  switchyard::Progress p;
  p.step = r.step;
  p.steps = r.steps;
  p.loss = r.loss;
  p.held_out = unless_nan(r.val_loss);
  if (r.tokens_per_s > 0) p.rate = r.tokens_per_s;
  p.rate_unit = r.counts_tokens ? "tokens/s" : "samples/s";
  if (const sy_peak* peak = fullest(r)) p.peak_bytes = static_cast<int64_t>(peak->measured), p.device = peak->device;
  p.seconds_left = r.seconds_left;
  return p;
}

/// The beginning of a text on one line, without anything that a terminal would obey.
std::string excerpt(const std::string& text) {
  constexpr std::size_t most = 60;
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (line.size() >= most && (byte & 0xC0) != 0x80) return line + "...";
    line += byte < 0x20 || byte == 0x7f ? ' ' : text[i];
  }
  return line;
}

/// "held out 1.74 nats per byte; peak planned 66.0 MiB, measured 64.9 MiB on cpu:1"
std::string outcome(const Json& result) {
  std::string text;
  char number[40];
  const char* key = result.contains("val_loss") ? "val_loss" : "loss";
  if (result.contains(key)) {
    std::snprintf(number, sizeof number, "%.4g", result[key].get<double>());
    text += std::string(", ") + (result.contains("val_loss") ? "held out " : "loss ") + number;
    if (result.contains("unit")) text += " " + result["unit"].get<std::string>();
  }
  const auto& peaks = result["peaks"];
  if (peaks.empty()) return text;
  const auto most = std::max_element(peaks.begin(), peaks.end(),
                                     [](const Json& a, const Json& b) { return a["measured"] < b["measured"]; });
  return text + "; peak planned " + bytes_text((*most)["planned"].get<int64_t>()) + ", measured " +
         bytes_text((*most)["measured"].get<int64_t>()) + " on " + (*most)["name"].get<std::string>();
}

}  // namespace

TrainView::TrainView(std::string program)
    : program_(std::move(program)), view_(stderr, switchyard::Screen::of(stderr)) {}

void TrainView::plan(const std::string& plan_json) {
  const Json plan = Json::parse(plan_json);
  view_.say(plan_headline(plan));
  for (const std::string& line : device_lines(plan)) view_.say(line);
  for (const Json& warning : plan["warnings"]) view_.say("warning: " + warning.get<std::string>());
}

void TrainView::step(const sy_report& report) { view_.tick(progress_of(report)); }
void TrainView::report(const sy_report& report) { view_.report(progress_of(report)); }
void TrainView::event(const std::string& line) { view_.say(line); }

void TrainView::end(const std::string& result_json, const std::string& config) {
  view_.finish();
  const Json result = Json::parse(result_json);
  const bool stopped = result["stopped"];
  const std::string steps = "step " + result["step"].dump();
  view_.say(label(stopped ? "Stopped" : "Done") + (stopped ? "after " + steps + ", " : "") +
            duration_text(result["seconds"].get<double>()) + outcome(result));
  if (result.contains("sample_before")) view_.say(label("Before") + excerpt(result["sample_before"]));
  if (result.contains("sample_after")) view_.say(label("After") + excerpt(result["sample_after"]));
  if (!result.contains("folder")) return;
  const std::string folder = result["folder"];
  view_.say(label("Look") + folder + "/loss.svg");
  if (stopped)
    view_.say(label("Next") + program_ + " train " + config + " --resume " + folder);
  else if (result.contains("sample_after"))
    view_.say(label("Next") + program_ + " generate " + folder + " --prompt \"...\"");
  else
    view_.say(label("Next") + program_ + " eval " + folder);
}

}  // namespace cli
