// Cuts the list of layers into runs, one for each device, or `chunks` for each; run s lies on device s mod n, or with
// order = "v" back and forth:
//
//   3 devices, chunks = 2    round: 0 1 2 0 1 2 (schedule "interleaved")      v: 0 1 2 2 1 0 (schedule "zbv")
//
// Neighbouring runs on one device are one stage. Where the cuts lie:
//
//   (none)                   layer counts that differ by at most one, larger ones first: 30 on 4 = 8, 8, 7, 7
//   counts = [18, 16]        these many layers
//   weights = [2.0, 1.0]     shares of the work: a cut lies where the running sum of forward and backward flops comes
//                            closest to the running share of the weights; no run is empty
//   cuts = ["h.17"]          the first layer of each later run; a group's name stands for its first part
//
// counts, weights and cuts may name fewer runs than devices x chunks; devices that get none stay empty.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../stages.hpp"

namespace {

using sy::place::counted;

/// The number of layers of each run.
using sizes = std::vector<int64_t>;

sizes even_sizes(int64_t layers, int64_t stages) {
  sizes all;
  for (int64_t s = 0; s < stages; ++s) all.push_back(layers / stages + (s < layers % stages));
  return all;
}

std::vector<double> work_of_layers(const sy_place& in) {
  std::vector<double> work;
  double sum = 0;
  for (uint32_t i = 0; i < in.n_layers; ++i) {
    const sy_cost& c = *in.layers[i]->cost;
    work.push_back(c.flops_forward + c.flops_input + c.flops_weight);
    sum += work.back();
  }
  if (!(sum > 0)) work.assign(in.n_layers, 1.0);  // nobody knows: layers count alike
  return work;
}

/// Cut s lies after the layer whose running sum is closest to its share (ties: the later one), but leaves every stage a
/// layer.
sizes weighted_sizes(const std::vector<double>& work, const std::vector<double>& weights) {
  const auto layers = static_cast<int64_t>(work.size()), stages = static_cast<int64_t>(weights.size());
  double total_work = 0, total_weight = 0;
  for (const double w : work) total_work += w;
  for (const double w : weights) total_weight += w;
  sizes all;
  int64_t begin = 0;
  double done = 0, share = 0;
  for (int64_t s = 0; s < stages; ++s) {
    share += weights[static_cast<std::size_t>(s)] / total_weight * total_work;
    int64_t end = begin;
    const int64_t last = s + 1 == stages ? layers : layers - (stages - 1 - s);
    while (end < last) {
      const double next = done + work[static_cast<std::size_t>(end)];
      const bool closer = std::fabs(next - share) <= std::fabs(done - share) * (1 + 1e-12);
      if (end > begin && s + 1 < stages && !closer) break;
      done = next;
      ++end;
    }
    all.push_back(end - begin);
    begin = end;
  }
  return all;
}

class Contiguous {
 public:
  static constexpr const char* id = "contiguous";
  static constexpr const char* help =
      "one run of neighbouring layers for each device, or several; goal: equal numbers of layers, or as told";
  static constexpr const char* order_choices[] = {"round", "v", nullptr};
  static constexpr sy_option options[] = {
      sy::option(SY_T_STRS, "cuts", "[]", 1, 0, nullptr, "first layer of each later run, by name, group or pattern"),
      sy::option(SY_T_I64S, "counts", "[]", 1, 1e9, nullptr, "number of layers of each run"),
      sy::option(SY_T_F64S, "weights", "[]", 1e-9, 1e9, nullptr, "share of the flops of each run"),
      sy::i64_option("chunks", "1", 1, 100000,
                     "runs on each device: more than 1 for the schedules interleaved and zbv"),
      sy::str_option("order", "\"round\"", order_choices,
                     "the devices of the runs, with chunks = 2 on 3 devices: 0 1 2 0 1 2 (round) or 0 1 2 2 1 0 (v)"),
  };

  explicit Contiguous(const sy::config& c)
      : cuts_(c.strs("cuts")),
        counts_(c.i64s("counts")),
        weights_(c.f64s("weights")),
        chunks_(c.i64("chunks")),
        back_and_forth_(c.str("order") == "v") {
    if (!cuts_.empty() + !counts_.empty() + !weights_.empty() > 1)
      throw sy::fault(SY_E_CONFIG, "contiguous: cuts, counts and weights exclude each other; give one of them");
  }

  void place(const sy_place& in, sy_placed& out) const {
    sy::place::expect_something(in);
    const sizes runs = run_sizes(in);
    std::vector<int32_t> device;
    for (std::size_t r = 0; r < runs.size(); ++r)
      device.insert(device.end(), static_cast<std::size_t>(runs[r]), device_of_run(r, in.n_devices));
    sy::place::expect_pins(in, device, "move a cut, or use the policy 'explicit'");
    sy::place::write_stages(in, device, out);
    explain(in, runs, out);
  }

 private:
  int32_t device_of_run(std::size_t run, uint32_t devices) const {
    const std::size_t round = run / devices, place = run % devices;
    return static_cast<int32_t>(back_and_forth_ && round % 2 == 1 ? devices - 1 - place : place);
  }

  sizes run_sizes(const sy_place& in) const {
    if (!cuts_.empty()) {
      expect_runs(in, cuts_.size() + 1, "cuts");
      return cut_sizes(in);
    }
    if (!counts_.empty()) {
      expect_runs(in, counts_.size(), "counts");
      int64_t sum = 0;
      for (const int64_t n : counts_) sum += n;
      if (sum != in.n_layers)
        throw sy::fault(SY_E_CONFIG, "contiguous: counts add up to " + std::to_string(sum) + ", the model has " +
                                         counted(in.n_layers, "layer"));
      return counts_;
    }
    if (!weights_.empty()) {
      expect_runs(in, weights_.size(), "weights");
      return weighted_sizes(work_of_layers(in), weights_);
    }
    const std::size_t runs = in.n_devices * static_cast<std::size_t>(chunks_);
    expect_runs(in, runs, chunks_ > 1 ? "devices x chunks" : "devices");
    return even_sizes(in.n_layers, static_cast<int64_t>(runs));
  }

  void expect_runs(const sy_place& in, std::size_t runs, const char* whence) const {
    const std::string asked = std::string("contiguous: ") + whence + " ask for " + counted(runs, "stage");
    if (runs > in.n_devices * static_cast<std::size_t>(chunks_))
      throw sy::fault(SY_E_CONFIG, asked + ", but there " + (in.n_devices == 1 ? "is " : "are ") +
                                       counted(in.n_devices, "device") +
                                       (chunks_ > 1 ? " of " + std::to_string(chunks_) + " chunks" : ""));
    if (runs > in.n_layers)
      throw sy::fault(SY_E_CONFIG, asked + ", but the model has " + counted(in.n_layers, "layer") + "; use fewer " +
                                       (chunks_ > 1 ? "chunks or " : "") + "devices");
  }

  sizes cut_sizes(const sy_place& in) const {
    sizes all;
    int64_t begin = 0;
    std::vector<uint8_t> hit(in.n_layers);
    for (const std::string& cut : cuts_) {
      std::fill(hit.begin(), hit.end(), uint8_t{0});
      sy::check(in.match(in.self, cut.c_str(), hit.data(), nullptr),
                "contiguous: the cut '" + cut + "' matches no layer");
      int64_t first = 0;
      while (first < in.n_layers && !hit[static_cast<std::size_t>(first)]) ++first;
      if (first <= begin)
        throw sy::fault(SY_E_CONFIG, "contiguous: the cut '" + cut + "' (" +
                                         sy::place::layer_text(in, static_cast<uint32_t>(first)) + ") must lie after " +
                                         sy::place::layer_text(in, static_cast<uint32_t>(begin)) +
                                         ", where the run before begins");
      all.push_back(first - begin);
      begin = first;
    }
    all.push_back(in.n_layers - begin);
    return all;
  }

  void explain(const sy_place& in, const sizes& runs, const sy_placed& out) const {
    const std::vector<double> work = work_of_layers(in);
    double total = 0, most = 0;
    std::size_t heaviest = 0, layer = 0;
    std::string text;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      double sum = 0;
      for (int64_t k = 0; k < runs[r]; ++k) sum += work[layer++];
      total += sum;
      if (sum > most) most = sum, heaviest = r;
      text += (r ? ", " : "") + std::to_string(runs[r]);
    }
    const char* rule = !cuts_.empty()      ? "cut as told"
                       : !counts_.empty()  ? "counts as told"
                       : !weights_.empty() ? "by weights"
                                           : "even";
    sy::place::say(out, std::string(rule) + ": " + text + " layers; run " + std::to_string(heaviest) + " does " +
                            std::to_string(std::lround(100 * most / total)) + " % of the flops, an equal share is " +
                            std::to_string(std::lround(100.0 / static_cast<double>(runs.size()))) + " %");
  }

  std::vector<std::string> cuts_;
  sizes counts_;
  std::vector<double> weights_;
  int64_t chunks_;
  bool back_and_forth_;
};

}  // namespace

SY_PLUGIN_NOTE("policy-contiguous");
static constexpr sy_export exports[] = {sy::export_policy<Contiguous>()};
SY_DEFINE_PLUGIN("policy-contiguous", "0.1.0", exports)
