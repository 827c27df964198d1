// The glue between tensor views and at::Tensor: accounts, rules that it enforces, states that it restores.
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include "against_autograd.hpp"

using namespace layers;

namespace {

constexpr const char* wrong = "tests/plugins/layers/sy-layer-wrong.so";

}  // namespace

TEST_CASE("a layer in 30 lines") {
  const at::Tensor x = at::randn({4, 5, 8});
  OneLayer layer(wrong, "scale");
  check_against_autograd(layer.build({x}), {x},
                         [](const Tensors& in, const Named& w) { return in[0] * w.at("weight"); });
}

TEST_CASE("a result that is its argument is copied, both ways") {
  const at::Tensor x = at::randn({4, 5}), before = x.clone();
  OneLayer layer(wrong, "identity");
  layer.build({x});
  const at::Tensor y = layer.forward({x}).at(0);
  CHECK(y.data_ptr() != x.data_ptr());
  y.zero_();
  CHECK(same_bits(x, before));
  const at::Tensor dy = at::ones({4, 5}), dx = layer.backward({dy}).at(0);
  CHECK(dx.data_ptr() != dy.data_ptr());
  CHECK(same_bits(dx, dy));
}

TEST_CASE("a trainable tensor that nobody declared is refused in the first call") {
  const at::Tensor x = at::randn({4, 5});
  OneLayer layer(wrong, "hidden_weight");
  layer.build({x});
  CHECK_THROWS_WITH_AS(layer.forward({x}), doctest::Contains("unregistered trainable tensor of shape [1]"),
                       fake::failure);
  CHECK(layer.origin.live == 0);
}

TEST_CASE("a layer that writes its input is refused") {
  const at::Tensor x = at::randn({4, 5});
  OneLayer layer(wrong, "writes_input");
  layer.build({x});
  CHECK_THROWS_WITH_AS(layer.forward({x}), doctest::Contains("wrote its input 0"), fake::failure);
}

TEST_CASE("exceptions of any type stay inside; LibTorch's lose their stack trace") {
  const at::Tensor x = at::randn({4, 5});
  for (const char* id : {"throws_int", "wrong_shapes"}) {
    OneLayer layer(wrong, id);
    layer.build({x});
    std::string text;
    sy_rc code = SY_OK;
    try {
      layer.forward({x});
    } catch (const fake::failure& f) {
      text = f.what(), code = f.code;
    }
    CHECK(code == (id == std::string("throws_int") ? SY_E_UNKNOWN : SY_E_INTERNAL));
    CHECK(text.find("frame #") == std::string::npos);
    CHECK(layer.origin.live == 0);
  }
}

TEST_CASE("every byte of a call is charged, and given back") {
  const at::Tensor x = at::randn({16, 32, 64});
  OneLayer layer("transformer", "gpt_block", {{"heads", "4"}});
  layer.build({x});
  {
    const Tensors y = layer.forward({x});
    CHECK(layer.origin.live > static_cast<int64_t>(x.nbytes()));
    layer.forward({x});
    layer.forget();  // one call's saved tensors without a backward
    layer.backward({y[0]});
  }
  CHECK(layer.origin.live == 0);
  CHECK(layer.origin.peak > 10 * static_cast<int64_t>(x.nbytes()));
  CHECK(fake::live_tensors == 0);
}

TEST_CASE("over the budget: SY_E_NO_MEMORY from forward and from backward, and nothing stays charged") {
  const at::Tensor x = at::randn({16, 32, 64});
  OneLayer layer("transformer", "gpt_block", {{"heads", "4"}});
  layer.build({x});
  layer.forward({x});
  const int64_t saved = layer.origin.live, peak = layer.origin.peak;
  for (const int64_t budget : {int64_t{1}, saved / 3, saved / 2, peak - 1}) {
    layer.origin.budget = saved + budget;
    sy_rc code = SY_OK;
    std::string text;
    try {
      layer.forward({x});
    } catch (const fake::failure& f) {
      code = f.code, text = f.what();
    }
    CHECK(code == SY_E_NO_MEMORY);
    CHECK(text == "over the device's budget");  // the host's own words
    CHECK(layer.origin.live == saved);
    CHECK(layer.kept() == 1);
  }
  layer.origin.budget = saved + 1000;
  CHECK_THROWS_AS(layer.backward({x}), fake::failure);
  CHECK(layer.origin.live == 0);
  layer.origin.budget = INT64_MAX;
  layer.forward({x});
  CHECK(layer.backward({x}).at(0).defined());
}

TEST_CASE("a call leaves gradient mode and thread count of the caller as they were") {
  const at::Tensor x = at::randn({4, 5});
  OneLayer layer("autograd", "linear_autograd", {{"out", "3"}});
  layer.build({x});
  const int threads = at::get_num_threads();
  layer.threads = threads + 1;
  for (const bool mode : {true, false}) {
    c10::GradMode::set_enabled(mode);
    layer.forward({x});
    layer.backward({at::ones({4, 3})});
    CHECK(c10::GradMode::is_enabled() == mode);
    CHECK(at::get_num_threads() == threads);
  }
  c10::GradMode::set_enabled(true);
}

TEST_CASE("two micro-batches in flight, backward in order, add up to the sum of both") {
  const at::Tensor a = at::randn({4, 6}), b = at::randn({4, 6});
  OneLayer layer("autograd", "mlp_autograd", {{"widths", "[16, 3]"}});
  layer.build({a});
  const at::Tensor dy = at::ones({4, 3});
  layer.forward({a});
  layer.backward({dy});
  const at::Tensor only_a = layer.grads["0.weight"].clone();
  layer.zero_grads();
  layer.forward({b});
  layer.backward({dy});
  const at::Tensor only_b = layer.grads["0.weight"].clone();
  layer.zero_grads();
  layer.forward({a});
  layer.forward({b});
  layer.backward({dy});
  layer.backward({dy});
  CHECK(same_bits(layer.grads["0.weight"], only_a + only_b));
}
