#pragma once

#include "kernels/softmax_loss.hpp"
#include "tensor.hpp"

namespace kernels {

struct SoftmaxOptions {
  bool gradient = true, right = false, ignores = false;
  sy_dtype target_type = sy::i64;
  double scale = 3;  // of the logits
};

struct SoftmaxLoss {
  int64_t rows, classes;
  SoftmaxOptions options;
  double weight = 0.125;
  Tensor logits, before, targets, losses, right, out;
  std::vector<int64_t> ids;

  SoftmaxLoss(int64_t rows, int64_t classes, sy_dtype type, SoftmaxOptions o)
      : rows(rows),
        classes(classes),
        options(o),
        logits(normal(type, rows * classes, 71, 1, o.scale)),
        targets(o.target_type, rows),
        losses(sy::f64, rows),
        out(sy::f32, 2) {
    if (o.right) right = Tensor(sy::f64, rows);
    std::mt19937 engine(72);
    for (int64_t r = 0; r < rows; ++r) {
      ids.push_back(static_cast<int64_t>(engine() % static_cast<uint32_t>(std::min<int64_t>(classes, 100))));
      if (r % 3 == 0) logits.set(r * classes + ids.back(), 40);                        // right
      if (r % 6 == 3 && ids.back() > 0) logits.set(r * classes + ids.back() - 1, 40);  // as large as an earlier one
      if (o.ignores && r % 4 == 1) ids.back() = ignored();
      char* at = static_cast<char*>(targets.data()) + r * (o.target_type.bits / 8);
      std::memcpy(at, &ids.back(), o.target_type.bits / 8);
    }
    before = logits;
  }
  int64_t ignored() const { return options.target_type.code == SY_UINT ? 200 : -100; }
  void run(Place& place) {
    softmax_loss(place.on, {.rows = rows,
                            .classes = classes,
                            .type = logits.type,
                            .logits = place.at(logits),
                            .targets = place.at(targets),
                            .target_type = options.target_type,
                            .ignores = options.ignores,
                            .ignore = ignored(),
                            .weight = weight,
                            .gradient = options.gradient,
                            .losses = static_cast<double*>(place.at(losses)),
                            .right = static_cast<double*>(place.at(right))});
    sum_losses(place.on, rows, static_cast<const double*>(place.at(losses)),
               static_cast<const double*>(place.at(right)), static_cast<float*>(place.at(out)));
  }
  std::vector<Output> outputs() {
    const double apart = logits.type.bits == 64 ? 1e-12 : 1e-5;
    const double of_sum = logits.type.bits == 64 ? 512 : 32;
    std::vector<Output> all = {{"logits", &logits, of_sum, 8 * half_unit(wide(logits.type)) * weight},
                               {"losses", &losses, 0, apart}};
    all.push_back({"sums", &out, 2, apart * static_cast<double>(rows)});
    if (right.count) all.push_back({"right", &right, 0});
    return all;
  }
  std::vector<std::vector<double>> expected() const {
    std::vector<double> gradient, loss, hits;
    double loss_sum = 0, hit_sum = 0;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t target = ids[static_cast<std::size_t>(r)];
      const bool counts = !(options.ignores && target == ignored());
      double most = -INFINITY;
      long double sum = 0;
      int64_t best = 0;
      for (int64_t k = 0; k < classes; ++k)
        if (before.at(r * classes + k) > most) most = before.at(r * classes + k), best = k;
      for (int64_t k = 0; k < classes; ++k) sum += std::exp(before.at(r * classes + k) - most);
      const auto total = static_cast<double>(sum);
      for (int64_t k = 0; k < classes; ++k) {
        const double p = std::exp(before.at(r * classes + k) - most) / total;
        gradient.push_back(!options.gradient ? before.at(r * classes + k)
                           : counts          ? weight * (p - (k == target ? 1 : 0))
                                             : 0);
      }
      loss.push_back(counts ? std::log(total) + most - before.at(r * classes + target) : 0);
      hits.push_back(counts && best == target ? 1 : 0);
      loss_sum += loss.back(), hit_sum += hits.back();
    }
    std::vector<std::vector<double>> all = {gradient, loss, {loss_sum, right.count ? hit_sum : -1}};
    if (right.count) all.push_back(hits);
    return all;
  }
};

}  // namespace kernels
