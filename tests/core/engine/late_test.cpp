// Results that come one step late, as they do from asynchronous devices: nothing else may change.

#include <algorithm>
#include <functional>

#include "faulty_model.hpp"

namespace {

using namespace plain;

/// Without the batch norm, which waits for the answer.
std::string without_finish(std::string layers) {
  const std::string from = "type = \"plain_batchnorm\"";
  layers.replace(layers.find(from), from.size(), "type = \"plain_tanh\"");
  return layers;
}

std::unique_ptr<Pipe> late_pipe(const std::string& options, const std::vector<std::string>& sets = {}) {
  auto pipe = build(without_finish(faulty_layers(options)) + faulty_training, sets);
  pipe->make_results_late();
  return pipe;
}

std::unique_ptr<Pipe> prompt_pipe(const std::vector<std::string>& sets = {}) {
  return build(without_finish(faulty_layers("")) + faulty_training, sets);
}

std::optional<StepResult> begin(Pipe& pipe, int number) {
  Batch batch = batch_for(pipe.model(), pipe.plan().batch, number);
  const auto result = pipe.begin_step(batch, static_cast<uint64_t>(number), 1e-2);
  std::ranges::fill(batch.inputs.bytes(), std::byte{0xFF});  // it was the caller's again
  std::ranges::fill(batch.targets.bytes(), std::byte{0xFF});
  return result;
}

void check_same(const StepResult& late, const StepResult& prompt) {
  CHECK(late.step == prompt.step);
  CHECK(late.loss == prompt.loss);
  CHECK(late.grad_norm == prompt.grad_norm);
  CHECK(late.micro_losses == prompt.micro_losses);
  CHECK(late.accuracy == prompt.accuracy);
  CHECK(late.valid == prompt.valid);
  CHECK(late.skipped == prompt.skipped);
}

}  // namespace

TEST_CASE("each call gives the result of the step before, the last one comes when asked for") {
  for (const char* layers : {token_layers, table_layers})
    for (const char* cuts : {"[1]", "[1, 1]", "[1, 1, 1, 1]"}) {
      CAPTURE(cuts);
      const std::vector<std::string> sets = {std::string("placement.contiguous.weights=") + cuts};
      auto late = build(std::string(layers) + training, sets), prompt = build(std::string(layers) + training, sets);
      if (std::ranges::any_of(late->model().parameters(), [](const auto& p) { return p.kind == SY_ACCUMULATOR; })) {
        CHECK(error_of([&] { late->make_results_late(); }).code() == SY_E_STATE);
        CHECK_FALSE(late->results_are_late());
        continue;
      }
      CHECK_FALSE(late->results_are_late());
      late->make_results_late();
      CHECK(late->results_are_late());
      CHECK_FALSE(begin(*late, 1).has_value());
      for (int n = 2; n <= 5; ++n) {
        const auto before = begin(*late, n);
        REQUIRE(before.has_value());
        check_same(*before, step(*prompt, n - 1));
      }
      const auto last = late->finish_step();
      REQUIRE(last.has_value());
      check_same(*last, step(*prompt, 5));
      CHECK_FALSE(late->finish_step().has_value());
      CHECK(late->applied_steps() == 5);
      CHECK(state_of(*late) == state_of(*prompt));
      CHECK(train(*late, 2, 6) == train(*prompt, 2, 6));  // step() is this and the wait
    }
}

TEST_CASE("while a result is missing, everything but another step is refused") {
  auto pipe = late_pipe("");
  const Batch b = batch_for(pipe->model(), 8, 1);
  CHECK_FALSE(begin(*pipe, 1).has_value());
  std::vector<std::byte> room(4);
  for (const std::function<void()>& call :
       std::vector<std::function<void()>>{[&] { pipe->evaluate(b); }, [&] { pipe->forward(b.inputs, false); },
                                          [&] { pipe->gradients(b, 2); }, [&] { pipe->step(b, 2, 1e-2); },
                                          [&] {
                                            pipe->read({0, -1}, room);
                                          },
                                          [&] {
                                            pipe->write({0, -1}, room);
                                          },
                                          [&] { pipe->values_changed(); }, [&] { pipe->applied_steps(); },
                                          [&] { pipe->set_applied_steps(1); }, [&] { pipe->record(true); }})
    CHECK(error_of(call).code() == SY_E_STATE);
  REQUIRE(pipe->finish_step().has_value());
  CHECK(pipe->evaluate(b).valid == 8);
}

TEST_CASE("a step that is not finite is named by the next call; both are dropped, and no weight has changed") {
  const struct {
    const char *what, *in, *wanted;
  } faults[] = {{"nan", "forward", "layer 2 'x' (faulty), stage 1 on cpu:1, micro-batch 0: output 0 is not finite"},
                {"inf_gradient", "backward", "step 2 was dropped: the gradient of 'x.weight'"}};
  for (const auto& f : faults)
    for (const bool last : {false, true}) {
      CAPTURE(f.what);
      CAPTURE(last);
      auto pipe = late_pipe(fault(f.what, f.in, 2)), good = prompt_pipe();
      CHECK_FALSE(begin(*pipe, 1).has_value());
      CHECK(begin(*pipe, 2).has_value());
      const Error e = error_of([&] { last ? pipe->finish_step() : begin(*pipe, 3); });
      CHECK(e.code() == SY_E_DATA);
      CHECK_MESSAGE(contains(e.what(), f.wanted), std::string(e.what()));
      CHECK(noted(e, "layer") == "x");
      CHECK_FALSE(pipe->finish_step().has_value());
      CHECK(pipe->applied_steps() == 1);
      step(*good, 1);
      CHECK(state_of(*pipe) == state_of(*good));
      CHECK(train(*pipe, 2, 3) == train(*good, 2, 3));
    }
}

TEST_CASE("fp16 with a fixed scale: a step that overflows is skipped, the next one counts") {
  const std::vector<std::string> fp16 = {"precision.type=fp16", "precision.loss_scale=1024", "train.recompute=false"};
  auto pipe = late_pipe(fault("inf_gradient", "backward", 2), fp16), good = prompt_pipe(fp16);
  begin(*pipe, 1);
  begin(*pipe, 2);
  const auto second = begin(*pipe, 3);
  REQUIRE(second.has_value());
  CHECK(second->skipped);
  const auto third = pipe->finish_step();
  REQUIRE(third.has_value());
  CHECK_FALSE(third->skipped);
  CHECK(pipe->applied_steps() == 2);
  step(*good, 1);
  check_same(*third, step(*good, 3));
  CHECK(state_of(*pipe) == state_of(*good));
}

TEST_CASE("fp16 with a dynamic scale waits for the answer") {
  auto pipe = late_pipe("", {"precision.type=fp16"});
  CHECK_FALSE(pipe->results_are_late());
  CHECK(begin(*pipe, 1).has_value());
}

TEST_CASE("a step that fails while it is begun leaves the result of the one before") {
  auto pipe = late_pipe(fault("throw", "forward", 2)), good = prompt_pipe();
  CHECK_FALSE(begin(*pipe, 1).has_value());
  error_of([&] { begin(*pipe, 2); });
  CHECK(pipe->has_begun_step());
  CHECK(begin(*pipe, 3).has_value());
  const auto third = pipe->finish_step();
  REQUIRE(third.has_value());
  step(*good, 1);
  check_same(*third, step(*good, 3));
  CHECK(state_of(*pipe) == state_of(*good));
}
