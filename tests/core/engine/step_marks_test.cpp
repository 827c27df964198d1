// Seconds between marks in a stream; the CPU's are those of the clock.
#include "engine/step_marks.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "plain_model.hpp"

using namespace switchyard;

namespace {

struct Cpu {
  std::shared_ptr<OpenedBackend> backend = std::make_shared<OpenedBackend>(plain::registry().backend("cpu"));
  Device device{described(), backend};
  static PlanDevice described() {
    PlanDevice d;
    d.name = "cpu:0";
    d.device = {SY_DEVICE_CPU, 0};
    return d;
  }
};

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// One pass: waits, and is busy twice.
void pass(StepMarks& marks, const Device& device, int wait, int first, int second) {
  marks.start_pass(device);
  sleep_ms(wait);
  marks.mark(device);
  sleep_ms(first);
  marks.mark(device);
  sleep_ms(wait);
  marks.mark(device);
  sleep_ms(second);
  marks.mark(device);
}

}  // namespace

TEST_CASE("busy are the actions, passes reach from their start to the end of their last action") {
  const Cpu cpu;
  StepMarks marks;
  CHECK(marks.empty());
  for (int round = 0; round < 2; ++round) {  // the second one uses the same events
    const auto began = std::chrono::steady_clock::now();
    marks.start_step();
    CHECK(marks.read().busy == 0);
    pass(marks, cpu.device, 30, 20, 10);
    sleep_ms(100);  // between passes
    pass(marks, cpu.device, 5, 10, 20);
    sleep_ms(100);
    const double all = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    CHECK_FALSE(marks.empty());
    const StepMarks::Times t = marks.read();
    CHECK(t.busy >= 0.060);
    CHECK(t.passes >= t.busy + 0.070);  // 30 and 5, twice each
    CHECK(t.passes <= all - 0.200);
  }
  marks.start_step();
  marks.start_pass(cpu.device);  // a device without stages
  CHECK(marks.read().busy == 0);
  CHECK(marks.read().passes == 0);
}
