// A failure after the last backward comes when other devices may have updated their weights: the pipe is poisoned.

#include "faulty_model.hpp"

using namespace plain;

namespace {

const char* const where = "layer 2 'x' (faulty), stage 1 on cpu:1: ";

/// Refused, with the first cause and its notes.
template <class Body>
void check_refused(const std::string& cause, Body&& body) {
  const Error e = error_of(body);
  CHECK(e.code() == SY_E_STATE);
  CHECK_MESSAGE(contains(e.what(), cause), std::string(e.what()));
  CHECK(noted(e, "layer") == "x");
  CHECK(noted(e, "stage") == "1");
  CHECK(noted(e, "device") == "cpu:1");
}

void check_poisoned(Pipe& pipe, const std::string& cause) {
  const Batch b = batch_for(pipe.model(), 8, 1);
  std::vector<std::byte> value(sizeof(float));
  std::vector<float> gradient(1);
  const int weight = pipe.model().layers()[2].parameters[0];
  for (int n = 3; n <= 4; ++n) check_refused(cause, [&] { step(pipe, n); });
  check_refused(cause, [&] { pipe.gradients(b, 3); });
  check_refused(cause, [&] { pipe.evaluate(b); });
  check_refused(cause, [&] { pipe.forward(b.inputs, false); });
  check_refused(cause, [&] { pipe.read({weight, -1}, value); });
  check_refused(cause, [&] { pipe.write({weight, -1}, value); });
  check_refused(cause, [&] { pipe.read_gradient(weight, gradient); });
  check_refused(cause, [&] { pipe.values_changed(); });
}

}  // namespace

TEST_CASE("a failure in finish poisons the pipe: every later call tells it") {
  for (const char* what : {"throw", "throw_int", "bad_alloc"}) {
    CAPTURE(what);
    auto pipe = build_faulty(fault(what, "finish", 2)), good = build_faulty("");
    CHECK(train(*pipe, 1) == train(*good, 1));
    const Error first = error_of([&] { step(*pipe, 2); });
    CHECK(first.code() != SY_E_STATE);
    CHECK_MESSAGE(contains(first.what(), where), std::string(first.what()));
    CHECK(noted(first, "micro_batch") == "");
    check_poisoned(*pipe, first.what());
  }
}
