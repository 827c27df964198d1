#include "against_autograd.hpp"

using namespace layers;

namespace {

struct Loss {
  double sum = 0, right = 0;
};
Loss loss_of(const at::Tensor& out) { return {out[0].item<double>(), out[1].item<double>()}; }

}  // namespace

TEST_CASE("cross_entropy: sum, accuracy and gradient, ignored targets left out") {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    for (const bool with_time : {false, true}) {
      const double t = type == at::kDouble ? 1e-7 : type == at::kFloat ? 2e-6 : 1e-2;
      const at::Tensor x = (with_time ? at::randn({3, 4, 9}) : at::randn({12, 9})).to(type);
      at::Tensor targets = at::randint(9, x.sizes().slice(0, x.dim() - 1), at::kLong);
      targets.view(-1)[5] = -100;
      OneLayer layer("loss", "cross_entropy");
      layer.ignore = -100;
      layer.build({x, targets});
      CHECK(layer.in_ports[1].id_limit == 9);
      CHECK((layer.caps() & SY_L_LOSS) != 0);

      const at::Tensor leaf = x.to(at::kDouble, false, /*copy=*/true).set_requires_grad(true);
      const at::Tensor expected =
          at::cross_entropy_loss(leaf.view({12, 9}), targets.view(-1), {}, at::Reduction::Sum, -100);
      (expected * 0.25).backward();
      const int64_t right = (x.view({12, 9}).argmax(1) == targets.view(-1)).sum().item<int64_t>();

      const Loss trained = loss_of(layer.forward({x, targets}, {.loss_weight = 0.25}).at(0));
      CHECK(std::abs(trained.sum - expected.item<double>()) < t * expected.item<double>() + 1e-6);
      CHECK(trained.right == right);
      const Tensors dx = layer.backward({}, 2);
      CHECK(difference(dx[0], leaf.grad()) < t);
      CHECK(is(dx[0], type));
      CHECK_FALSE(dx[1].defined());

      CHECK(loss_of(layer.forward({x, targets}, {.kind = SY_EVAL, .flags = SY_CALL_NO_SAVE}).at(0)).sum == trained.sum);
    }
  }
}

TEST_CASE("cross_entropy reads int32 and uint8 targets, and gives predictions in FORWARD") {
  const at::Tensor x = at::randn({2, 5, 4}), targets = at::randint(4, {2, 5}, at::kLong);
  OneLayer layer("loss", "cross_entropy");
  layer.build({x, targets});
  const double sum = loss_of(layer.forward({x, targets}, {.flags = SY_CALL_NO_SAVE}).at(0)).sum;
  CHECK(loss_of(layer.forward({x, targets.to(at::kInt)}, {.flags = SY_CALL_NO_SAVE}).at(0)).sum == sum);
  CHECK(loss_of(layer.forward({x, targets.to(at::kByte)}, {.flags = SY_CALL_NO_SAVE}).at(0)).sum == sum);
  CHECK(same_bits(layer.forward({x}, {.kind = SY_FORWARD, .flags = SY_CALL_NO_SAVE}).at(0), x));
  CHECK(same_bits(layer.forward({x}, {.kind = SY_FORWARD, .flags = SY_CALL_NO_SAVE | SY_CALL_LAST_POSITION}).at(0),
                  x.narrow(1, 4, 1)));
  check_memory(layer, {at::randn({64, 1000}), at::randint(1000, {64}, at::kLong)});
}

TEST_CASE("cross_entropy refuses targets of another count, and numbers") {
  OneLayer layer("loss", "cross_entropy");
  CHECK_THROWS_WITH_AS(layer.infer(SY_TRAIN, {at::randn({4, 3}), at::zeros({5}, at::kLong)}),
                       doctest::Contains("4 rows of logits and 5 targets"), fake::failure);
  CHECK_THROWS_WITH_AS(layer.infer(SY_TRAIN, {at::randn({4, 3}), at::zeros({4})}), doctest::Contains("mse"),
                       fake::failure);
}

TEST_CASE("mse: the sum of squares over elements; no accuracy") {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const double t = type == at::kDouble ? 1e-7 : type == at::kFloat ? 2e-6 : 1e-2;
    const at::Tensor x = at::randn({6, 3}).to(type), targets = at::randn({6, 3});
    OneLayer layer("loss", "mse");
    layer.build({x, targets});
    const at::Tensor leaf = x.to(at::kDouble, false, /*copy=*/true).set_requires_grad(true);
    const at::Tensor expected = (leaf - targets).square().sum();
    (expected * 0.5).backward();
    const Loss trained = loss_of(layer.forward({x, targets}, {.loss_weight = 0.5}).at(0));
    CHECK(std::abs(trained.sum - expected.item<double>()) < t * expected.item<double>());
    CHECK(trained.right == -1);
    CHECK(difference(layer.backward({}, 2).at(0), leaf.grad()) < t);
    CHECK(loss_of(layer.forward({x, targets}, {.kind = SY_EVAL, .flags = SY_CALL_NO_SAVE}).at(0)).sum == trained.sum);
  }
}
