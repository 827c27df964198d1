// Gradients against central differences: each of a few elements of every input and weight alone, and all together.
//
//   what is differentiated   sum of outputs times fixed numbers; of a loss its own sum times loss_weight
//   where it is smooth       only there: the slopes to the left and to the right must agree (relu, max)
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/dtype.hpp"
#include "check/layer/layer_checks.hpp"

namespace switchyard::checks {

namespace {

/// How far to go aside and what may differ, by how exact the outputs are.
struct Precision {
  double step, relative, absolute, epsilon;
};
constexpr Precision in_fp64{1.0 / 8192, 1e-5, 1e-8, 1e-15}, in_fp32{1.0 / 64, 2e-2, 1e-4, 1.2e-7};

class Differences {
 public:
  explicit Differences(const LayerCase& what)
      : trial_(what),
        inputs_(trial_.draw_inputs(3)),
        weights_(trial_.draw_gradients()),
        precision_(what.compute == dtype::f64 && !what.is_loss() ? in_fp64 : in_fp32) {
    trial_.start_step();
    Pass pass = trial_.forward(inputs_);
    back_ = trial_.backward(pass, weights_);
    for (const TrialParam& p : trial_.params())
      gradients_.push_back(p.kind == SY_WEIGHT ? p.grad.numbers() : Numbers());
  }

  void expect_all() {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!trial_.wants(i)) continue;
      const Numbers zeros(inputs_[i].count());
      expect("input " + std::to_string(i), inputs_[i], back_[i] ? copy_of("", back_[i].view()).numbers() : zeros);
    }
    for (std::size_t p = 0; p < gradients_.size(); ++p)
      if (trial_.params()[p].kind == SY_WEIGHT)
        expect("'" + trial_.params()[p].name + "'", trial_.params()[p].value, gradients_[p]);
    if (compared_ == 0) throw Skip("nothing of it has a gradient where its function is smooth");
  }

 private:
  /// The differentiated sum, and the sum of magnitudes, which bounds its rounding.
  double sum() {
    trial_.values_changed();
    Pass pass = trial_.forward(inputs_);
    trial_.free_saved(pass);
    double total = 0;
    magnitude_ = 0;
    const bool loss = trial_.what().is_loss();
    for (std::size_t o = 0; o < pass.outputs.size(); ++o) {
      if (!loss && weights_[o].shape().empty()) continue;
      const Numbers y = copy_of("", pass.outputs[o].view()).numbers();
      if (loss) {
        magnitude_ = std::abs(y[0]) / static_cast<double>(trial_.rows());
        return y[0] / static_cast<double>(trial_.rows());
      }
      const Numbers w = weights_[o].numbers();
      for (std::size_t i = 0; i < y.size(); ++i) total += w[i] * y[i], magnitude_ += std::abs(w[i] * y[i]);
    }
    return total;
  }

  void expect(const std::string& which, const HostArray& at, const Numbers& gradient) {
    double typical = 0;
    for (const double g : gradient) typical = std::max(typical, std::abs(g));
    const std::size_t n = at.count(), stride = std::max<std::size_t>(1, n / 24);
    for (std::size_t e = 0; e < n; e += stride) {
      Numbers direction(n);
      direction[e] = 1;
      compare("element " + std::to_string(e) + " of the gradient of " + which, at, direction, gradient[e], typical);
    }
    Numbers direction(n);
    Draw draw(5);
    double along = 0, size = 0;
    for (std::size_t e = 0; e < n; ++e) {
      direction[e] = draw.number() < 0 ? -1 : 1;
      along += direction[e] * gradient[e];
      size += std::abs(gradient[e]);
    }
    compare("the gradient of " + which + " along a line", at, direction, along,
            std::min(size, typical * std::sqrt(static_cast<double>(n))));
  }

  void compare(const std::string& which, const HostArray& at, const Numbers& direction, double given, double typical) {
    const Numbers start = at.numbers();
    const double h = precision_.step;
    const auto aside = [&](double by) {
      Numbers moved = start;
      for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += by * direction[i];
      at.write(moved);
      const double f = sum();
      at.write(start);
      return f;
    };
    const double right = aside(h), left = aside(-h), middle = sum();
    const double expected = (right - left) / (2 * h), nearer = (aside(h / 4) - aside(-h / 4)) / (h / 2);
    const double noise = 8 * precision_.epsilon * magnitude_ / h + precision_.absolute;
    const double scale = std::max({std::abs(expected), std::abs(given), 0.05 * typical});
    const double allowed = precision_.relative * scale + noise;
    const double bend = std::abs((right - middle) - (middle - left)) / h;
    if (bend > 0.2 * scale + 8 * noise || std::abs(expected - nearer) > 0.5 * allowed + 4 * noise)
      return;  // not smooth
    ++compared_;
    if (std::abs(expected - given) <= allowed) return;
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, " is %.6g, but differences of the outputs give %.6g", given, expected);
    throw Fault(
        which + numbers,
        "look at how backward makes it: gradients of weights are added to what is there, those of inputs are new");
  }

  LayerTrial trial_;
  std::vector<HostArray> inputs_, weights_;
  const Precision precision_;
  std::vector<Tensor> back_;
  std::vector<Numbers> gradients_;
  double magnitude_ = 0;
  std::size_t compared_ = 0;
};

/// Whether the layer can be created for a type.
bool takes(const LayerCase& what) {
  try {
    LayerTrial trial(what);
    Pass pass = trial.forward(trial.draw_inputs());
    trial.free_saved(pass);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void expect_added(const LayerCase& what) {
  LayerTrial trial(what);
  const std::vector<HostArray> inputs = trial.draw_inputs();
  trial.run(inputs);
  std::vector<Numbers> once;
  for (const TrialParam& p : trial.params()) once.push_back(p.kind == SY_WEIGHT ? p.grad.numbers() : Numbers());
  Pass pass = trial.forward(inputs);
  trial.backward(pass, trial.draw_gradients());
  for (std::size_t i = 0; i < once.size(); ++i) {
    if (once[i].empty()) continue;
    const Numbers twice = trial.params()[i].grad.numbers();
    for (std::size_t e = 0; e < twice.size(); ++e)
      if (std::abs(twice[e] - 2 * once[i][e]) > 1e-4 * std::abs(once[i][e]) + 1e-6)
        throw Fault("a second micro-batch does not add to the gradient of '" + trial.params()[i].name + "'",
                    "add to the gradient that is there (+=): a step has several micro-batches");
  }
}

}  // namespace

void check_layer_gradients(const LayerCase& what) {
  if (what.compute.bits == 16) throw Skip("differences need fp32 or fp64; drop --type");
  Differences(what).expect_all();
  if (const LayerCase exact = what.in(dtype::f64); !(what.compute == dtype::f64) && takes(exact))
    Differences(exact).expect_all();
  expect_added(what);
}

}  // namespace switchyard::checks
