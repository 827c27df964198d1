// Pipes come and go: two at once, closed in any order, many in a row, and nothing stays behind.

#include <thread>

#include "base/account.hpp"
#include "faulty_model.hpp"

using namespace plain;

TEST_CASE("two pipes step from two threads and close in either order") {
  const auto run = [](bool first_goes_first) {
    auto a = build(std::string(table_layers) + training), b = build_faulty("");
    Trace trace_a, trace_b;
    std::thread other([&] { trace_a = train(*a, 4); });
    trace_b = train(*b, 4);
    other.join();
    const double seconds = seconds_of([&] {
      if (first_goes_first) a.reset();
      b.reset();
      a.reset();
    });
    CHECK(seconds < 1);
    return std::pair(trace_a, trace_b);
  };
  const auto one = run(true), two = run(false);
  CHECK(one == two);
  auto alone = build_faulty("");
  CHECK(train(*alone, 4) == one.second);
}

TEST_CASE("a pipe that fails does not disturb another") {
  auto good = build_faulty(""), alone = build_faulty(""), bad = build_faulty(fault("throw", "forward"));
  std::thread other([&] {
    for (int n = 1; n <= 10; ++n) CHECK_THROWS_AS(step(*bad, n), Error);
  });
  CHECK(train(*good, 6) == train(*alone, 6));
  other.join();
}

TEST_CASE("twenty rounds of build, step, fail and close leave no byte on any device") {
  for (int n = 1; n <= 20; ++n) {
    auto pipe = build_faulty(fault(n % 2 ? "throw" : "nan", n % 4 < 2 ? "forward" : "backward", 2, n % 4));
    const auto all = pipe->accounts();
    step(*pipe, 1);
    pipe->forward(batch_for(pipe->model(), 8, 1).inputs,
                  false);  // all samples at once: edges need more room than planned
    const int64_t held = all[1]->live;
    CHECK_THROWS_AS(step(*pipe, 2), Error);
    CHECK(all[1]->live == held);
    step(*pipe, 3);
    pipe->evaluate(batch_for(pipe->model(), 8, 1));
    pipe->forward(batch_for(pipe->model(), 8, 1).inputs, false);
    CHECK(all[1]->live == held);
    pipe.reset();
    for (const sy_origin* a : all) CHECK(a->live == 0);
  }
}
