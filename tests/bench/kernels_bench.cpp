// How much faster the layers' kernels are on the CPU than the LibTorch operators that they replace, in fp32 at the
// shapes of examples/train_a_book (256 positions x 128) and of something larger; both in turns, the fastest of
// thirty rounds.
//   build/tests/bench/kernels-bench [THREADS]
#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "switchyard/cpp/torch.hpp"

#include "kernels/columns.hpp"
#include "kernels/drop.hpp"
#include "kernels/embed.hpp"
#include "kernels/lane_of.hpp"
#include "kernels/pointwise.hpp"
#include "kernels/rotary.hpp"
#include "kernels/row_norm.hpp"
#include "kernels/softmax_loss.hpp"

using namespace sy::kernels;
using at::Tensor;

namespace {

double microseconds(const std::function<void()>& run, int times) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) run();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / times;
}

void compare(const char* name, const std::function<void()>& ours, const std::function<void()>& theirs) {
  ours(), theirs();
  const int times = std::max(1, static_cast<int>(1000 / std::max(1.0, microseconds(theirs, 1))));
  double a = INFINITY, b = INFINITY;
  for (int round = 0; round < 30; ++round) {
    a = std::min(a, microseconds(ours, times));
    b = std::min(b, microseconds(theirs, times));
  }
  std::printf("  %-44s %10.1f %10.1f %8.2f\n", name, a, b, b / a);
}

sum gradient(Tensor& t) { return {t.data_ptr(), sy::f32}; }

struct Shape {
  const char* name;
  int64_t batch, time, width, feed_forward, heads, vocabulary;
};

void norms(const lane& on, const Shape& s) {
  const int64_t rows = s.batch * s.time;
  const norm_size size{rows, s.width, sy::f32, norm_rule::layer, 1e-5};
  Tensor x = at::randn({rows, s.width}), residual = at::randn_like(x), weight = at::randn({s.width});
  Tensor bias = at::randn({s.width}), total = at::empty_like(x), y = at::empty_like(x), dx = at::empty_like(x);
  Tensor mean = at::empty({rows}), rstd = at::empty({rows}), dw = at::zeros({s.width}), db = at::zeros({s.width});
  Tensor dc = at::zeros({s.width}), room = at::empty({static_cast<int64_t>(norm_backward_scratch(on, size) / 4)});
  compare(
      "residual + norm forward",
      [&] {
        norm_forward(on, size,
                     {x.data_ptr(), residual.data_ptr(), total.data_ptr(), weight.data_ptr(), bias.data_ptr(),
                      y.data_ptr(), mean.data_ptr(), rstd.data_ptr()});
      },
      [&] { at::native_layer_norm(x.add(residual), {s.width}, weight, bias, 1e-5); });
  const auto saved = at::native_layer_norm(x, {s.width}, weight, bias, 1e-5);
  const Tensor m = std::get<1>(saved).contiguous(), r = std::get<2>(saved).contiguous(), dy = at::randn_like(x);
  compare(
      "norm backward + residual, gradients added",
      [&] {
        norm_backward(on, size,
                      {dy.data_ptr(),
                       x.data_ptr(),
                       weight.data_ptr(),
                       m.data_ptr(),
                       r.data_ptr(),
                       residual.data_ptr(),
                       dx.data_ptr(),
                       gradient(dw),
                       gradient(db),
                       {},
                       room.data_ptr()});
      },
      [&] {
        auto made = at::native_layer_norm_backward(dy, x, {s.width}, m, r, weight, bias, {true, true, true});
        std::get<0>(made).add_(residual), dw.add_(std::get<1>(made)), db.add_(std::get<2>(made));
      });
}

void columns(const lane& on, const Shape& s) {
  const int64_t rows = s.batch * s.time, head = s.width / s.heads;
  Tensor x = at::randn({rows, s.feed_forward}), db = at::zeros({s.feed_forward}), dq = at::zeros({3 * s.width});
  Tensor room = at::empty({static_cast<int64_t>(column_sum_scratch(on, sy::f32, rows, s.feed_forward) / 4)});
  compare(
      "column sum, added",
      [&] { column_sum(on, sy::f32, rows, s.feed_forward, x.data_ptr(), gradient(db), room.data_ptr()); },
      [&] { db.add_(x.sum(0)); });
  Tensor parts[3], packed = at::empty({rows, 3 * s.width});
  std::vector<packed_part> places;
  for (Tensor& t : parts) {
    t = at::randn({s.batch, s.heads, s.time, head});
    places.push_back({t.data_ptr(), s.heads, s.heads * s.time * head, head, s.time * head});
  }
  compare(
      "pack dq, dk, dv, bias gradient added",
      [&] {
        pack(on, sy::f32, rows, s.time, head, places.data(), 3, packed.data_ptr(), gradient(dq), room.data_ptr());
      },
      [&] {
        std::vector<Tensor> all;
        for (const Tensor& t : parts) all.push_back(t.transpose(1, 2).reshape({rows, s.width}));
        dq.add_(at::cat(all, 1).sum(0));
      });
}

void pointwise(const lane& on, const Shape& s) {
  const int64_t rows = s.batch * s.time, n = rows * s.feed_forward;
  Tensor x = at::randn({rows, s.feed_forward}), up = at::randn_like(x), y = at::empty_like(x), dy = at::randn_like(x);
  Tensor other = at::empty_like(x), db = at::zeros({s.feed_forward});
  Tensor room = at::empty({static_cast<int64_t>(column_sum_scratch(on, sy::f32, rows, s.feed_forward) / 4)});
  for (const auto& [f, form, name] :
       {std::tuple{function::gelu, "none", "gelu"}, std::tuple{function::gelu_tanh, "tanh", "gelu_tanh"}}) {
    compare((std::string(name) + " forward").c_str(),
            [&, f = f] { activate(on, f, sy::f32, n, x.data_ptr(), y.data_ptr()); },
            [&, form = form] { at::gelu_out(y, x, form); });
    compare((std::string(name) + " backward, bias gradient added").c_str(),
            [&, f = f] {
              activate_backward(on, f, sy::f32, rows, s.feed_forward, dy.data_ptr(), x.data_ptr(), y.data_ptr(),
                                gradient(db), room.data_ptr());
            },
            [&, form = form] {
              const Tensor dx = at::gelu_backward(dy, x, form);
              db.add_(dx.sum(0));
            });
  }
  compare(
      "silu forward", [&] { activate(on, function::silu, sy::f32, n, x.data_ptr(), y.data_ptr()); },
      [&] { at::silu_out(y, x); });
  compare(
      "tanh forward", [&] { activate(on, function::tanh, sy::f32, n, x.data_ptr(), y.data_ptr()); },
      [&] { at::tanh_out(y, x); });
  compare(
      "swiglu forward", [&] { swiglu(on, sy::f32, n, x.data_ptr(), up.data_ptr(), y.data_ptr()); },
      [&] { at::silu(x).mul_(up); });
  compare(
      "swiglu backward",
      [&] {
        swiglu_backward(on, sy::f32, n, dy.data_ptr(), x.data_ptr(), up.data_ptr(), y.data_ptr(), other.data_ptr());
      },
      [&] {
        at::silu_backward(dy.mul(up), x);
        at::silu(x).mul_(dy);
      });
  compare(
      "add", [&] { add(on, sy::f32, n, x.data_ptr(), up.data_ptr(), y.data_ptr()); }, [&] { at::add_out(y, x, up); });
  compare(
      "drop",
      [&] {
        drop(on, sy::f32, rows, s.feed_forward, {{1, 2}, 3, 0, 0.1}, x.data_ptr(), nullptr, y.data_ptr());
      },
      [&] { at::native_dropout(x, 0.1, true); });
}

void rotary(const lane& on, const Shape& s) {
  const int64_t rows = s.batch * s.time, head = s.width / s.heads;
  Tensor qkv = at::randn({rows, 3 * s.width}),
         x = qkv.view({s.batch, s.time, 3 * s.heads, head}).narrow(2, 0, 2 * s.heads);
  const Tensor turns = at::pow(10000.0, at::arange(0, head, 2, at::kDouble).mul_(-1.0 / static_cast<double>(head)));
  compare(
      "rotate q and k",
      [&] { rotate(on, sy::f32, rows, s.time, 2 * s.heads, head, 3 * s.width, 10000, false, qkv.data_ptr()); },
      [&] {
        const Tensor angles = at::arange(s.time, at::kDouble).unsqueeze(1).mul(turns);
        const Tensor c = angles.cos().to(at::kFloat).unsqueeze(1), n = angles.sin().to(at::kFloat).unsqueeze(1);
        const auto halves = x.chunk(2, 3);
        at::cat({halves[0].mul(c).sub_(halves[1].mul(n)), halves[1].mul(c).add_(halves[0].mul(n))}, 3);
      });
}

void head(const lane& on, const Shape& s) {
  const int64_t rows = s.batch * s.time;
  Tensor x = at::randn({rows, s.vocabulary}), logits = x.clone(), targets = at::randint(s.vocabulary, {rows});
  Tensor losses = at::empty({rows}, at::kDouble);
  const double weight = 1.0 / static_cast<double>(rows);
  compare(
      "softmax, loss, gradient",
      [&] {
        softmax_loss(on, {.rows = rows,
                          .classes = s.vocabulary,
                          .type = sy::f32,
                          .logits = logits.data_ptr(),
                          .targets = targets.data_ptr(),
                          .target_type = sy::i64,
                          .weight = weight,
                          .gradient = true,
                          .losses = losses.data_ptr<double>()});
      },
      [&] {
        const Tensor log_p = at::_log_softmax(x, 1, false);
        const auto loss = at::nll_loss_forward(log_p, targets, {}, at::Reduction::Mean, -100);
        const Tensor d =
            at::nll_loss_backward(at::ones({}), log_p, targets, {}, at::Reduction::Mean, -100, std::get<1>(loss));
        at::_log_softmax_backward_data(d, log_p, 1, at::kFloat);
      });
}

void embedding(const lane& on, const Shape& s) {
  const int64_t rows = s.batch * s.time;
  const embed_size size{s.batch, s.time, s.width, s.vocabulary, sy::f32, sy::i64};
  Tensor ids = at::randint(s.vocabulary, {s.batch, s.time}), token = at::randn({s.vocabulary, s.width});
  Tensor position = at::randn({s.time, s.width}), y = at::empty({s.batch, s.time, s.width}), dy = at::randn_like(y);
  Tensor dt = at::zeros_like(token), dp = at::zeros_like(position);
  Tensor room = at::empty({static_cast<int64_t>(embed_backward_scratch(on, size) / 4)});
  compare(
      "embedding forward",
      [&] { embed(on, size, ids.data_ptr(), token.data_ptr(), position.data_ptr(), y.data_ptr()); },
      [&] { at::embedding(token, ids).add_(position); });
  compare(
      "embedding backward",
      [&] { embed_backward(on, size, ids.data_ptr(), dy.data_ptr(), gradient(dt), gradient(dp), room.data_ptr()); },
      [&] {
        dt.index_add_(0, ids.view({-1}), dy.view({rows, s.width}));
        dp.add_(dy.sum(0));
      });
}

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  sy_call call{};
  call.device.type = SY_DEVICE_CPU;
  const lane on = lane_of(call);
  const Shape shapes[] = {{"book", 2, 128, 128, 512, 4, 256}, {"larger", 4, 256, 768, 3072, 12, 8192}};
  for (const Shape& s : shapes) {
    std::printf("%s: %ld x %ld, feed-forward %ld, vocabulary %ld, %d threads; us of ours, of LibTorch, ratio\n", s.name,
                s.batch * s.time, s.width, s.feed_forward, s.vocabulary, at::get_num_threads());
    for (const auto& part : {norms, columns, pointwise, rotary, head, embedding}) part(on, s);
  }
  return 0;
}
