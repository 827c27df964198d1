// A cancel from another thread drops the step that is going on, and nothing else.

#include <atomic>
#include <thread>

#include "faulty_model.hpp"

using namespace plain;

TEST_CASE("a cancelled step is dropped, and the next one works") {
  auto pipe = build_faulty(fault("slow", "forward", 2) + "ms = 300\n"), good = build_faulty("");
  CHECK(train(*pipe, 1) == train(*good, 1));
  const auto before = state_of(*pipe);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    pipe->cancel();
  });
  const double seconds = seconds_of([&] {
    const Error e = error_of([&] { step(*pipe, 2); });
    CHECK(e.code() == SY_E_CANCELLED);
  });
  other.join();
  CHECK(seconds < 1);  // not the 1.2 s that its four micro-batches take
  CHECK(state_of(*pipe) == before);
  CHECK(train(*pipe, 2, 3) == train(*good, 2, 3));
}

TEST_CASE("a cancel between two steps has nothing to end") {
  auto pipe = build_faulty(""), good = build_faulty("");
  pipe->cancel();
  CHECK(train(*pipe, 1) == train(*good, 1));
  pipe->cancel();
  CHECK(train(*pipe, 2, 2) == train(*good, 2, 2));
}

TEST_CASE("cancels at any moment end a step or come too late, and never break one") {
  auto pipe = build_faulty("");
  std::atomic<bool> end{false};
  std::thread other([&] {
    while (!end) pipe->cancel(), std::this_thread::sleep_for(std::chrono::microseconds(300));
  });
  std::vector<int> done;
  for (int n = 1; n <= 60; ++n) {
    try {
      step(*pipe, n);
      done.push_back(n);
    } catch (const Error& e) {
      CHECK_MESSAGE(e.code() == SY_E_CANCELLED, std::string(e.what()));
    }
  }
  end = true;
  other.join();
  auto good = build_faulty("");
  for (const int n : done) step(*good, n);
  CHECK(state_of(*pipe) == state_of(*good));
}
