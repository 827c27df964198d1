// A layer that fails: one error that says where, the step dropped, the pipe usable.

#include "faulty_model.hpp"

namespace {

using namespace plain;

/// Step 2 fails at micro-batch 1; steps 1, 3 and 4 equal a run that never heard of step 2.
void check_dropped(const std::string& what, const std::string& in, const std::vector<std::string>& sets = {}) {
  CAPTURE(what);
  CAPTURE(in);
  auto pipe = build_faulty(fault(what, in, 2, 1), sets), good = build_faulty("", sets);
  CHECK(train(*pipe, 1) == train(*good, 1));
  const auto before = state_of(*pipe);
  const Error e = error_of([&] { step(*pipe, 2); });
  const std::string text = e.what();
  CHECK_MESSAGE(contains(text, "layer 2 'x' (faulty), stage 1 on cpu:1, micro-batch 1: "), text);
  CHECK(noted(e, "layer") == "x");
  CHECK(noted(e, "stage") == "1");
  CHECK(noted(e, "device") == "cpu:1");
  CHECK(noted(e, "micro_batch") == "1");
  CHECK(noted(e, "plugin") == "layer-faulty");
  CHECK(text.find('\n') == std::string::npos);
  CHECK(state_of(*pipe) == before);
  CHECK(train(*pipe, 2, 3) == train(*good, 2, 3));
}

}  // namespace

TEST_CASE("whatever a layer throws in forward drops the step and no more") {
  for (const char* what : {"throw", "throw_int", "bad_alloc", "escape", "no_output"}) check_dropped(what, "forward");
}

TEST_CASE("whatever a layer throws in backward drops the step and no more") {
  for (const char* what : {"throw", "throw_int", "bad_alloc", "escape"}) check_dropped(what, "backward");
}

TEST_CASE("a failed step is dropped under every schedule, with and without recompute") {
  for (const char* schedule : {"gpipe", "1f1b"})
    for (const char* recompute : {"false", "true"})
      for (const char* in : {"forward", "backward"})
        check_dropped("throw", in,
                      {std::string("schedule.type=") + schedule, std::string("train.recompute=") + recompute});
}

TEST_CASE("the text of a thrown exception arrives") {
  auto pipe = build_faulty(fault("throw", "forward"));
  CHECK(contains(error_of([&] { step(*pipe, 1); }).what(), "faulty: thrown in forward as told"));
}

TEST_CASE("evaluation and predictions fail alike, and work after a failed step") {
  auto pipe = build_faulty(fault("throw", "forward", 2)), good = build_faulty("");
  const Batch b = batch_for(pipe->model(), 8, 1);
  CHECK_THROWS_AS(step(*pipe, 2), Error);
  CHECK(pipe->evaluate(b).loss == good->evaluate(b).loss);
  auto always = build_faulty(fault("throw", "forward"));
  CHECK(contains(error_of([&] { always->evaluate(b); }).what(), "layer 2 'x' (faulty), stage 1 on cpu:1"));
  CHECK(contains(error_of([&] { always->forward(b.inputs, false); }).what(), "layer 2 'x' (faulty), stage 1 on cpu:1"));
}

TEST_CASE("a layer that fails in bind is named, and nothing was built") {
  for (const char* what : {"throw", "throw_int", "bad_alloc"}) {
    const Error e = error_of([&] { build_faulty(fault(what, "bind")); });
    CHECK_MESSAGE(contains(e.what(), "layer 2 'x' (faulty), stage 1 on cpu:1: "), std::string(e.what()));
    CHECK(noted(e, "micro_batch") == "");
  }
}

TEST_CASE("a failure while planning names the layer") {
  for (const char* in : {"create", "infer", "params", "cost"}) {
    const Error e = error_of([&] { build_faulty(fault("throw", in)); });
    CHECK_MESSAGE(contains(e.what(), "'x' (faulty)"), std::string(e.what()));
  }
}
