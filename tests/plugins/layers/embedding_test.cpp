#include "against_autograd.hpp"

using namespace layers;

namespace {

at::Tensor embedded(const Tensors& in, const Named& w) {
  const at::Tensor y = at::embedding(w.at("token.weight"), in[0].to(at::kLong));
  return w.count("position.weight") ? y + w.at("position.weight").narrow(0, 0, in[0].size(1)) : y;
}

}  // namespace

TEST_CASE("embedding looks ids up, of any integer type, and adds learned positions") {
  for (const char* positions : {"none", "learned"})
    for (const at::ScalarType type : {at::kLong, at::kInt, at::kByte}) {
      OneLayer layer(
          "transformer", "embedding",
          {{"vocabulary", "11"}, {"width", "6"}, {"positions", std::string("\"") + positions + '"'}, {"context", "9"}});
      const at::Tensor ids = at::randint(11, {4, 7}, at::kLong).to(type);
      layer.build({ids});
      CHECK(layer.in_ports[0].id_limit == 11);
      check_against_autograd(layer, {ids}, embedded);
      check_memory(layer, {ids});
    }
}

TEST_CASE("embedding in bf16 and fp16 adds its gradients in fp32, in fp64 in fp64, in two halves as at once") {
  for (const auto& [type, tolerance] : std::map<at::ScalarType, Tolerance>{
           {at::kBFloat16, {1e-2, 1e-6}}, {at::kHalf, {1e-3, 1e-6}}, {at::kDouble, {1e-15, 1e-14}}}) {
    OneLayer layer("transformer", "embedding", {{"vocabulary", "5"}, {"width", "8"}, {"positions", "\"learned\""}});
    const at::Tensor ids = at::randint(5, {16, 4}, at::kLong);
    layer.build({ids}, type);
    const at::Tensor y = layer.forward({ids}, {.flags = SY_CALL_NO_SAVE}).at(0);
    CHECK(is(y, type));
    check_against_autograd(layer, {ids}, embedded, tolerance);
    Named halves;
    for (const bool in_halves : {true, false}) {
      layer.zero_grads();
      layer.forward({ids});
      in_halves ? layer.backward_in_halves({y}) : layer.backward({y});
      for (const auto& [name, g] : layer.grads)
        if (in_halves)
          halves[name] = g.clone();
        else
          CHECK(same_bits(g, halves.at(name)));
    }
  }
}

TEST_CASE("embedding refuses what is longer than its positions") {
  OneLayer layer("transformer", "embedding",
                 {{"vocabulary", "5"}, {"width", "8"}, {"positions", "\"learned\""}, {"context", "4"}});
  CHECK_THROWS_WITH_AS(layer.infer(SY_TRAIN, {at::zeros({1, 5}, at::kLong)}),
                       doctest::Contains("longer than the 4 learned positions"), fake::failure);
}
