// Softmax and cross-entropy, alone (plain_cross_entropy) and behind a matrix (plain_head).
#pragma once

#include <cmath>

#include "linear.hpp"

namespace plain {

/// What the last input of a loss layer told at infer.
struct targets {
  bool may_ignore = false;
  int64_t ignore_id = 0;

  void read_port(sy_port& p, int64_t classes) {
    expect_ids(p);
    p.id_limit = classes;
    may_ignore = (p.flags & SY_PORT_IGNORE) != 0;
    ignore_id = p.ignore_id;
  }
  bool counts(int64_t id) const { return !may_ignore || id != ignore_id; }
};

struct loss {
  double sum = 0;     // of -log p(target) over valid targets
  int64_t right = 0;  // targets that are the first largest logit
};

/// The loss of `logits` [n, classes], which become their gradients, scaled by `weight`.
inline loss softmax_in_place(float* logits, int64_t classes, const std::vector<int64_t>& ids, const targets& t,
                             double weight) {
  loss all;
  for (std::size_t r = 0; r < ids.size(); ++r) {
    float* z = logits + static_cast<int64_t>(r) * classes;
    const bool valid = t.counts(ids[r]);
    if (valid && (ids[r] < 0 || ids[r] >= classes))
      throw sy::fault(SY_E_DATA, "target " + std::to_string(ids[r]) + " is out of range");
    int64_t largest = 0;
    for (int64_t c = 1; c < classes; ++c)
      if (z[c] > z[largest]) largest = c;
    double total = 0;
    for (int64_t c = 0; c < classes; ++c) total += std::exp(double{z[c]} - z[largest]);
    const double log_total = std::log(total) + z[largest];
    if (valid) all.sum += log_total - z[ids[r]];
    if (valid) all.right += largest == ids[r];
    for (int64_t c = 0; c < classes; ++c)
      z[c] = valid ? static_cast<float>((std::exp(z[c] - log_total) - (c == ids[r] ? 1 : 0)) * weight) : 0.0f;
  }
  return all;
}

inline sy::port loss_port() { return {{2}, sy::f32, false}; }
inline sy_tensor* loss_tensor(const sy_call& call, const loss& l) {
  const float pair[] = {static_cast<float>(l.sum), static_cast<float>(l.right)};
  return made(call, {2}, sy::f32, std::span<const float>(pair));
}
inline bool ends_in_loss(uint32_t kind) { return kind == SY_TRAIN || kind == SY_EVAL; }
/// Gradients are made by the forward of training, unless it only precedes a replay.
inline bool makes_gradients(const sy_call& call) { return call.kind == SY_TRAIN && !(call.flags & SY_CALL_NO_SAVE); }

class CrossEntropy {
 public:
  static constexpr const char* id = "plain_cross_entropy";
  static constexpr const char* help = "softmax and cross-entropy against class ids";
  static constexpr uint32_t caps = SY_L_LOSS;
  struct saved {
    sy::tensor dx;
  };
  explicit CrossEntropy(const sy::config&) {}

  std::vector<sy::port> infer(uint32_t kind, sy::ports in) {
    if (!ends_in_loss(kind)) return {sy::like(*in[0])};
    expect_inputs(in, 2);
    expect_numbers(*in[0]);
    if (elements(*in[1]) * static_cast<uint64_t>(in[0]->shape[in[0]->ndim - 1]) != elements(*in[0]))
      throw sy::fault(SY_E_CONFIG, "expected one target for each row of logits");
    targets_.read_port(*in[1], in[0]->shape[in[0]->ndim - 1]);
    return {loss_port()};
  }
  sy::cost cost(uint32_t kind, sy::const_ports in) const {
    sy::cost c{5.0 * static_cast<double>(elements(*in[0]))};
    if (kind == SY_TRAIN) c.bytes_saved = sy::bytes_of(*in[0]);
    if (ends_in_loss(kind)) c.bytes_workspace = 4 * elements(*in[0]);
    return c;
  }
  saved forward(const sy_call& call) {
    const sy_view& x = in(call, 0);
    if (!ends_in_loss(call.kind)) {
      call.out[0] = made_like(call, x, read(x));
      return {};
    }
    const sy::tensor logits = sy::new_host_tensor(call, shape(x), sy::f32);
    write(logits.view(), std::span<const float>(read(x)));
    const loss l =
        softmax_in_place(logits.data<float>(), x.shape[x.ndim - 1], read_ids(in(call, 1)), targets_, call.loss_weight);
    call.out[0] = loss_tensor(call, l);
    if (!makes_gradients(call)) return {};
    return {sy::tensor::adopt(made_like(call, x, read(logits.view())))};
  }
  void backward(const sy_call& call, saved&& s) {
    if (wants(call, 0)) call.out[0] = std::move(s.dx).give();
  }

 private:
  targets targets_;
};

class Head : public bound {
 public:
  static constexpr const char* id = "plain_head";
  static constexpr const char* help = "a matrix to the vocabulary, then cross-entropy";
  static constexpr uint32_t caps = SY_L_LOSS;
  static constexpr sy_option options[] = {
      sy::i64_option("vocabulary", nullptr, 1, 1e9, "number of classes"),
      sy::str_option("tied_to", "\"\"", nullptr, "layer or parameter whose weight is used; empty: its own"),
      sy::bool_option("bias", "false", "add a bias"),
  };
  struct saved {
    sy::tensor dx;
  };
  explicit Head(const sy::config& c)
      : vocabulary_(c.i64("vocabulary")), tied_to_(c.str("tied_to")), bias_(c.flag("bias")) {}

  std::vector<sy::port> infer(uint32_t kind, sy::ports in) {
    expect_numbers(*in[0]);
    learn(width_, in[0]->shape[in[0]->ndim - 1]);
    if (!ends_in_loss(kind)) {
      sy::port y = sy::like(*in[0]);
      y.shape.back() = vocabulary_;
      return {y};
    }
    expect_inputs(in, 2);
    targets_.read_port(*in[1], vocabulary_);
    return {loss_port()};
  }
  std::vector<sy::param> params() const {
    const std::string init = call_text("uniform", 1 / std::sqrt(static_cast<double>(width_)));
    std::vector<sy::param> all{{"weight", {vocabulary_, width_}, init}};
    all[0].tied_to = tied_to_;
    if (bias_) all.push_back({"bias", {vocabulary_}, init});
    return all;
  }
  sy::cost cost(uint32_t kind, sy::const_ports in) const {
    const double flops = 2.0 * static_cast<double>(elements(*in[0])) * static_cast<double>(vocabulary_);
    sy::cost c{kind == SY_TRAIN ? 3 * flops : flops};  // training's forward makes the gradients
    if (kind == SY_TRAIN) c.bytes_saved = sy::bytes_of(*in[0]);
    if (ends_in_loss(kind))
      c.bytes_workspace = 4 * elements(*in[0]) / static_cast<uint64_t>(width_) * static_cast<uint64_t>(vocabulary_);
    return c;
  }

  saved forward(const sy_call& call) {
    const sy_view& x = in(call, 0);
    const matrix rows = call.flags & SY_CALL_LAST_POSITION ? last_positions(x) : rows_of(x);
    std::vector<int64_t> s = shape(x);
    if (call.flags & SY_CALL_LAST_POSITION) s[1] = 1;
    s.back() = vocabulary_;
    if (!ends_in_loss(call.kind)) {
      call.out[0] = made(call, s, x.dtype, std::span<const double>(logits_of(rows)));
      return {};
    }
    const sy::tensor logits = sy::new_host_tensor(call, {rows.rows, vocabulary_}, sy::f32);
    write(logits.view(), std::span<const double>(logits_of(rows)));
    const loss l =
        softmax_in_place(logits.data<float>(), vocabulary_, read_ids(in(call, 1)), targets_, call.loss_weight);
    call.out[0] = loss_tensor(call, l);
    return makes_gradients(call) ? saved{gradients(call, x, rows, rows_of(logits.view()))} : saved{};
  }
  void backward(const sy_call& call, saved&& s) {
    if (wants(call, 0)) call.out[0] = std::move(s.dx).give();
  }

 private:
  std::vector<double> logits_of(const matrix& rows) const {
    std::vector<double> y = times_transposed(rows, rows_of(value(0)));
    if (!bias_) return y;
    const std::vector<float> b = read(value(1));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += b[i % b.size()];
    return y;
  }
  /// x [rows, length, width]: the last position of each row.
  matrix last_positions(const sy_view& x) const {
    const matrix all = rows_of(x);
    const int64_t length = x.shape[1];
    matrix last{x.shape[0], width_, {}};
    for (int64_t r = 0; r < x.shape[0]; ++r) {
      const auto from = all.at.begin() + ((r + 1) * length - 1) * width_;
      last.at.insert(last.at.end(), from, from + width_);
    }
    return last;
  }
  sy::tensor gradients(const sy_call& call, const sy_view& x, const matrix& rows, const matrix& dlogits) const {
    if (trained(0)) add_gradient(0, times_transposed(transposed(dlogits), transposed(rows)));
    if (bias_ && trained(1)) add_gradient(1, sums_of_columns(dlogits));
    return sy::tensor::adopt(made_like(call, x, times_transposed(dlogits, transposed(rows_of(value(0))))));
  }

  int64_t vocabulary_, width_ = 0;
  std::string tied_to_;
  bool bias_;
  targets targets_;
};

}  // namespace plain
