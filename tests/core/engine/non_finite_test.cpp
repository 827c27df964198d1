// NaN and infinity: fp32 stops and says where, fp16 skips the step on all stages.

#include <cmath>
#include <cstring>

#include "faulty_model.hpp"

namespace {

using namespace plain;

const std::vector<std::string> fp16 = {"precision.type=fp16", "train.recompute=false"};

void check_error(const std::string& options, const std::string& wanted) {
  auto pipe = build_faulty(options), good = build_faulty("");
  CHECK(train(*pipe, 1) == train(*good, 1));
  const auto before = state_of(*pipe);
  const Error e = error_of([&] { step(*pipe, 2); });
  CHECK(e.code() == SY_E_DATA);
  CHECK_MESSAGE(contains(e.what(), wanted), std::string(e.what()));
  CHECK(noted(e, "layer") == "x");
  CHECK(noted(e, "stage") == "1");
  CHECK(noted(e, "device") == "cpu:1");
  CHECK(state_of(*pipe) == before);
  CHECK(train(*pipe, 2, 3) == train(*good, 2, 3));
}

}  // namespace

TEST_CASE("NaN in an output: the first layer where it appears is named, the step dropped") {
  check_error(fault("nan", "forward", 2),
              "layer 2 'x' (faulty), stage 1 on cpu:1, micro-batch 0: output 0 is not finite");
  check_error(fault("nan", "forward", 2, 3), "layer 2 'x' (faulty), stage 1 on cpu:1, micro-batch 3: output 0 is not");
}

TEST_CASE("an infinite gradient in fp32: the parameter is named, the step dropped") {
  check_error(fault("inf_gradient", "backward", 2),
              "the gradient of 'x.weight' (layer 2 'x' (faulty), stage 1 on cpu:1)");
}

TEST_CASE("NaN in a gradient reaches the layers before it") {
  auto pipe = build_faulty(fault("nan", "backward", 1));
  CHECK(contains(error_of([&] { step(*pipe, 1); }).what(), "the gradient of 'stem.weight'"));
}

TEST_CASE("predictions and losses that are not finite name the layer, and the pipe stays usable") {
  auto pipe = build_faulty(fault("nan", "forward", 0));  // evaluation and predictions have step 0
  const Batch b = batch_for(pipe->model(), 8, 1);
  CHECK(contains(error_of([&] { pipe->forward(b.inputs, false); }).what(), "layer 2 'x' (faulty), stage 1 on cpu:1"));
  CHECK(contains(error_of([&] { pipe->evaluate(b); }).what(), "layer 2 'x' (faulty), stage 1 on cpu:1"));
  auto good = build_faulty("");
  CHECK(train(*pipe, 2) == train(*good, 2));
}

TEST_CASE("fp16: an infinite gradient in one stage skips the step on all and halves the scale") {
  for (const int micro_batch : {0, 3}) {
    auto pipe = build_faulty(fault("inf_gradient", "backward", 2, micro_batch), fp16), good = build_faulty("", fp16);
    for (Pipe* p : {pipe.get(), good.get()}) p->loss_scale().restore(1024, 0);  // the first one overflows here
    CHECK(train(*pipe, 1) == train(*good, 1));
    const auto before = state_of(*pipe);
    const StepResult r = step(*pipe, 2);
    CHECK(r.skipped);
    CHECK(r.loss_scale == 1024);
    CHECK(pipe->loss_scale().value() == 512);
    CHECK(pipe->applied_steps() == 1);
    CHECK(state_of(*pipe) == before);
    const StepResult next = step(*pipe, 3);
    CHECK_FALSE(next.skipped);
    CHECK(next.loss_scale == 512);
    CHECK(state_of(*pipe) != before);
  }
}

TEST_CASE("fp16: a power of two as loss scale changes neither norm nor weights") {
  auto with = [](const char* scale) {
    return build_faulty("", {"precision.type=fp16", std::string("precision.loss_scale=") + scale});
  };
  auto small = with("1024"), large = with("4096");
  const StepResult a = step(*small, 1), b = step(*large, 1);
  CHECK(a.loss == b.loss);
  CHECK(a.grad_norm == doctest::Approx(b.grad_norm).epsilon(1e-2));
}

TEST_CASE("fp16: a stage with nothing to train is legal with scaling, clipping and every schedule") {
  for (const char* schedule : {"gpipe", "1f1b"}) {
    auto pipe = build(faulty_layers("trainable = false\n") + faulty_training,
                      {"precision.type=fp16", "layer.stem.trainable=false", std::string("schedule.type=") + schedule});
    const auto stem = bytes_of(*pipe, "stem.weight"), x = bytes_of(*pipe, "x.weight"),
               out = bytes_of(*pipe, "out.weight");
    pipe->loss_scale().restore(1024, 0);
    for (int n = 1; n <= 3; ++n) CHECK_FALSE(step(*pipe, n).skipped);
    CHECK(bytes_of(*pipe, "stem.weight") == stem);
    CHECK(bytes_of(*pipe, "x.weight") == x);
    CHECK(bytes_of(*pipe, "out.weight") != out);
  }
}
