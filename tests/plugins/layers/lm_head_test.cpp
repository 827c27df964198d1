#include "transformer_reference.hpp"

using namespace layers;

namespace {

using Options = std::map<std::string, std::string>;

at::Tensor logits_of(const at::Tensor& x, const Named& w, bool rms) {
  return at::linear(norm_of(x, w, "norm.", rms), w.at("weight"), find(w, "bias"));
}

double sum_of(const Tensors& out) { return out.at(0)[0].item<double>(); }

struct Problem {
  at::Tensor x, targets;
  explicit Problem(at::ScalarType type = at::kFloat)
      : x(at::randn({3, 4, 8}).to(type)), targets(at::randint(13, {3, 4}, at::kLong)) {
    targets[1][2] = -100;
  }
  Tensors in() const { return {x, targets}; }
};

/// Loss and all gradients of a built head against cross-entropy on full logits in fp64.
void check_head(OneLayer& layer, const Problem& problem, bool rms, double t) {
  const at::Tensor leaf = problem.x.to(at::kDouble, false, true).set_requires_grad(true);
  const Named w = leaves(layer, at::kDouble);
  const at::Tensor expected = at::cross_entropy_loss(logits_of(leaf, w, rms).view({12, 13}), problem.targets.view(-1),
                                                     {}, at::Reduction::Sum, -100);
  (expected * 0.125).backward();
  for (auto& [n, g] : layer.grads) g.fill_(0.5);
  const Tensors out = layer.forward(problem.in(), {.loss_weight = 0.125});
  CHECK(std::abs(sum_of(out) - expected.item<double>()) < t * expected.item<double>() + 1e-6);
  const Tensors dx = layer.backward({}, 2);
  CHECK(difference(dx[0], leaf.grad()) < 4 * t);
  CHECK(is(dx[0], problem.x.scalar_type()));
  for (auto& [n, g] : layer.grads) {
    CAPTURE(n);
    CHECK(difference(g - 0.5, w.at(n).grad()) < 10 * t);
  }
  const Named after = layer.grads;
  CHECK(sum_of(layer.forward(problem.in(), {.kind = SY_EVAL, .flags = SY_CALL_NO_SAVE})) == sum_of(out));
  CHECK(sum_of(layer.forward(problem.in(), {.flags = SY_CALL_NO_SAVE})) == sum_of(out));
}

}  // namespace

TEST_CASE("lm_head equals cross-entropy on full logits, whole and in chunks") {
  for (const std::string norm : {"layer", "rms", "none"})
    for (const char* chunk : {"0", "5", "4"})
      for (const char* bias : {"false", "true"}) {
        CAPTURE(norm);
        CAPTURE(chunk);
        const Problem problem;
        OneLayer layer("transformer", "lm_head",
                       {{"vocabulary", "13"}, {"norm", '"' + norm + '"'}, {"chunk", chunk}, {"bias", bias}});
        layer.ignore = -100;
        check_head(layer.build(problem.in()), problem, norm == "rms", 3e-6);
        CHECK(layer.in_ports[1].id_limit == 13);
      }
}

TEST_CASE("lm_head in fp64, bf16 and fp16") {
  for (const auto& [type, tolerance] :
       std::map<at::ScalarType, double>{{at::kDouble, 1e-7}, {at::kBFloat16, 1e-2}, {at::kHalf, 2e-3}})
    for (const char* chunk : {"0", "5"}) {
      const Problem problem(type);
      OneLayer layer("transformer", "lm_head", {{"vocabulary", "13"}, {"chunk", chunk}, {"bias", "true"}});
      layer.ignore = -100;
      check_head(layer.build(problem.in()), problem, false, tolerance);
    }
}

TEST_CASE("a tied lm_head names its weight and keeps a gradient of its own") {
  const Problem problem;
  OneLayer layer("transformer", "lm_head", {{"vocabulary", "13"}, {"tied_to", "\"embed.token.weight\""}});
  layer.ignore = -100;
  layer.build(problem.in());
  CHECK(std::string(layer.declared["weight"].tied_to) == "embed.token.weight");
  CHECK(layer.declared["norm.weight"].tied_to == nullptr);
  check_head(layer, problem, false, 3e-6);
}

TEST_CASE("lm_head forgets gradients of a call that keeps nothing, and makes them in the replay") {
  const Problem problem;
  OneLayer layer("transformer", "lm_head", {{"vocabulary", "13"}});
  layer.build({problem.x, problem.targets.clamp_min(0)});
  const Tensors in = {problem.x, problem.targets.clamp_min(0)};
  const double once = sum_of(layer.forward(in, {.flags = SY_CALL_NO_SAVE}));
  for (auto& [n, g] : layer.grads) CHECK(g.abs().max().item<double>() == 0);
  CHECK(sum_of(layer.forward(in, {.flags = SY_CALL_REPLAY})) == once);
  CHECK(layer.grads["weight"].abs().max().item<double>() > 0);
  CHECK(layer.backward({}, 2).at(0).defined());
}

TEST_CASE("lm_head counts right classes in EVAL and gives logits in FORWARD") {
  const Problem problem;
  OneLayer layer("transformer", "lm_head", {{"vocabulary", "13"}, {"bias", "true"}});
  layer.ignore = -100;
  layer.build(problem.in());
  const at::Tensor expected = logits_of(problem.x, layer.values, false);
  const int64_t right = (expected.argmax(2) == problem.targets).sum().item<int64_t>();
  CHECK(layer.forward(problem.in(), {.kind = SY_EVAL, .flags = SY_CALL_NO_SAVE}).at(0)[1].item<int64_t>() == right);
  CHECK(layer.infer(SY_FORWARD, {problem.x}).at(0).shape[2] == 13);
  CHECK(difference(layer.forward({problem.x}, {.kind = SY_FORWARD, .flags = SY_CALL_NO_SAVE}).at(0), expected) < 2e-6);
  const at::Tensor last =
      layer.forward({problem.x}, {.kind = SY_FORWARD, .flags = SY_CALL_NO_SAVE | SY_CALL_LAST_POSITION}).at(0);
  CHECK(difference(last, expected.narrow(1, 3, 1)) < 2e-6);
}

TEST_CASE("lm_head declares its memory: logits of one chunk and their gradient") {
  for (const char* chunk : {"0", "64"}) {
    OneLayer layer("transformer", "lm_head", {{"vocabulary", "1000"}, {"chunk", chunk}});
    const Tensors in = {at::randn({4, 64, 32}), at::randint(1000, {4, 64}, at::kLong)};
    check_memory(layer.build(in), in);
  }
}
