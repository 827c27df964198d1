// Cuts the list of layers into as many runs as there are devices; run s lies on device s.
//
//   (none)                   layer counts that differ by at most one, larger ones first: 30 on 4 = 8, 8, 7, 7
//   counts = [18, 16]        these many layers
//   weights = [2.0, 1.0]     shares of the work: a cut lies where the running sum of forward and backward flops comes
//   closest
//                            to the running share of the weights; no stage is empty
//   cuts = ["h.17"]          the first layer of each later stage; a group's name stands for its first part
//
// counts, weights and cuts may name fewer stages than there are devices; the rest stay empty.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../stages.hpp"

namespace {

using sy::place::counted;

/// The number of layers of each stage.
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
      "one run of neighbouring layers for each device; goal: equal numbers of layers, or as told";
  static constexpr sy_option options[] = {
      sy::option(SY_T_STRS, "cuts", "[]", 1, 0, nullptr, "first layer of each later stage, by name, group or pattern"),
      sy::option(SY_T_I64S, "counts", "[]", 1, 1e9, nullptr, "number of layers of each stage"),
      sy::option(SY_T_F64S, "weights", "[]", 1e-9, 1e9, nullptr, "share of the flops of each stage"),
  };

  explicit Contiguous(const sy::config& c)
      : cuts_(c.strs("cuts")), counts_(c.i64s("counts")), weights_(c.f64s("weights")) {
    if (!cuts_.empty() + !counts_.empty() + !weights_.empty() > 1)
      throw sy::fault(SY_E_CONFIG, "contiguous: cuts, counts and weights exclude each other; give one of them");
  }

  void place(const sy_place& in, sy_placed& out) const {
    sy::place::expect_something(in);
    const sizes stages = stage_sizes(in);
    std::vector<int32_t> device;
    for (std::size_t s = 0; s < stages.size(); ++s)
      device.insert(device.end(), static_cast<std::size_t>(stages[s]), static_cast<int32_t>(s));
    sy::place::expect_pins(in, device, "move a cut, or use the policy 'explicit'");
    sy::place::write_stages(in, device, out);
    explain(in, stages, out);
  }

 private:
  sizes stage_sizes(const sy_place& in) const {
    if (!cuts_.empty()) {
      expect_stages(in, cuts_.size() + 1, "cuts");
      return cut_sizes(in);
    }
    if (!counts_.empty()) {
      expect_stages(in, counts_.size(), "counts");
      int64_t sum = 0;
      for (const int64_t n : counts_) sum += n;
      if (sum != in.n_layers)
        throw sy::fault(SY_E_CONFIG, "contiguous: counts add up to " + std::to_string(sum) + ", the model has " +
                                         counted(in.n_layers, "layer"));
      return counts_;
    }
    if (!weights_.empty()) {
      expect_stages(in, weights_.size(), "weights");
      return weighted_sizes(work_of_layers(in), weights_);
    }
    expect_stages(in, in.n_devices, "devices");
    return even_sizes(in.n_layers, in.n_devices);
  }

  static void expect_stages(const sy_place& in, std::size_t stages, const char* whence) {
    const std::string asked = std::string("contiguous: ") + whence + " ask for " + counted(stages, "stage");
    if (stages > in.n_devices)
      throw sy::fault(SY_E_CONFIG, asked + ", but there are " + counted(in.n_devices, "device"));
    if (stages > in.n_layers)
      throw sy::fault(SY_E_CONFIG,
                      asked + ", but the model has " + counted(in.n_layers, "layer") + "; use fewer devices");
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
                                         ", where the stage before begins");
      all.push_back(first - begin);
      begin = first;
    }
    all.push_back(in.n_layers - begin);
    return all;
  }

  void explain(const sy_place& in, const sizes& stages, const sy_placed& out) const {
    const std::vector<double> work = work_of_layers(in);
    double total = 0, most = 0;
    std::size_t heaviest = 0, layer = 0;
    std::string text;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      double sum = 0;
      for (int64_t k = 0; k < stages[s]; ++k) sum += work[layer++];
      total += sum;
      if (sum > most) most = sum, heaviest = s;
      text += (s ? ", " : "") + std::to_string(stages[s]);
    }
    const char* rule = !cuts_.empty()      ? "cut as told"
                       : !counts_.empty()  ? "counts as told"
                       : !weights_.empty() ? "by weights"
                                           : "even";
    sy::place::say(out, std::string(rule) + ": " + text + " layers; stage " + std::to_string(heaviest) + " does " +
                            std::to_string(std::lround(100 * most / total)) + " % of the flops, an equal share is " +
                            std::to_string(std::lround(100.0 / static_cast<double>(stages.size()))) + " %");
  }

  std::vector<std::string> cuts_;
  sizes counts_;
  std::vector<double> weights_;
};

}  // namespace

SY_PLUGIN_NOTE("policy-contiguous");
static constexpr sy_export exports[] = {sy::export_policy<Contiguous>()};
SY_DEFINE_PLUGIN("policy-contiguous", "0.1.0", exports)
