// The products of linear maps against LibTorch's in fp64.
#include "blocks/product.hpp"

#include "torch_and_doctest.hpp"

namespace {

struct Map {
  at::Tensor x, weight, bias, dy;
  Map(int64_t rows, int64_t in, int64_t out, at::ScalarType type)
      : x(at::randn({rows, in}).to(type)),
        weight(at::randn({out, in}).to(type)),
        bias(at::randn({out}).to(type)),
        dy(at::randn({rows, out}).to(type)) {}
};

double difference(const at::Tensor& a, const at::Tensor& b) {
  return ((a.to(at::kDouble) - b).abs().max() / b.abs().max()).item<double>();
}
at::Tensor wide(const at::Tensor& t) { return t.to(at::kDouble); }

double tolerance(at::ScalarType type) {
  return type == at::kDouble ? 1e-14 : type == at::kFloat ? 2e-6 : type == at::kHalf ? 2e-3 : 1e-2;
}

}  // namespace

TEST_CASE("products and their backward, made anew and in place, in every type") {
  at::manual_seed(1);
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
    CAPTURE(std::string(at::toString(type)));
    const double t = tolerance(type);
    const Map m(19, 12, 7, type);
    const at::Tensor y = wide(m.x).mm(wide(m.weight).t()), dx = wide(m.dy).mm(wide(m.weight));
    CHECK(difference(sy::product(m.x, m.weight, {}), y) < t);
    CHECK(difference(sy::product(m.x, m.weight, m.bias), y + wide(m.bias)) < t);
    at::Tensor to = at::empty({19, 7}, m.x.options());
    sy::product_out(to, m.x, m.weight, {});
    CHECK(difference(to, y) < t);
    sy::product_out(to, m.x, m.weight, m.bias);
    CHECK(difference(to, y + wide(m.bias)) < t);
    CHECK(difference(sy::product_backward(m.dy, m.weight), dx) < t);
    to = at::empty({19, 12}, m.x.options());
    sy::product_backward_out(to, m.dy, m.weight);
    CHECK(difference(to, dx) < t);
    sy::add_product_backward(to, m.dy, m.weight);
    CHECK(difference(to, 2 * dx) < 2 * t);
  }
}

TEST_CASE("weight gradients are added to what was there, in the gradient's type") {
  at::manual_seed(2);
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf})
    for (const at::ScalarType sum : {type, type == at::kDouble ? at::kDouble : at::kFloat}) {
      CAPTURE(std::string(at::toString(type)));
      CAPTURE(std::string(at::toString(sum)));
      const Map m(19, 12, 7, type);
      const at::Tensor before = at::randn({7, 12}).to(sum);
      at::Tensor grad = before.clone();
      sy::add_product(grad, m.dy, m.x);
      CHECK((grad.scalar_type() == sum));
      CHECK(difference(grad, wide(before) + wide(m.dy).t().mm(wide(m.x))) < tolerance(type));
    }
}

TEST_CASE("a product that is larger than its temporary is made in parts") {
  at::manual_seed(3);
  const int64_t in = 3000, out = 2000;
  CHECK(sy::add_product_part(out, in) < out * in);
  CHECK(sy::add_product_part(out, in) % in == 0);
  CHECK(sy::add_product_scratch(out, in, 16) == 6 * static_cast<uint64_t>(sy::add_product_part(out, in)));
  CHECK(sy::add_product_scratch(out, in, 32) == 0);
  const Map m(5, in, out, at::kBFloat16);
  at::Tensor grad = at::zeros({out, in});
  sy::add_product(grad, m.dy, m.x);
  CHECK(difference(grad, wide(m.dy).t().mm(wide(m.x))) < 1e-2);
}
