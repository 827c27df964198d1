// The faulty layer does what it is told, when it is told.
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "layer_driver.hpp"

namespace {

constexpr const char* file = "tests/plugins/faulty/sy-layer-faulty.so";

std::map<std::string, std::string> with(const std::string& fault, std::map<std::string, std::string> options) {
  options["fault"] = "\"" + fault + "\"";
  return options;
}

struct Case {
  Layer layer;
  std::vector<Value> in{Value::random({1, 3, 2}, 1)};
  explicit Case(const std::string& fault, std::map<std::string, std::string> options = {})
      : layer(file, "faulty", with(fault, std::move(options))) {
    layer.build(in);
  }
};

}  // namespace

TEST_CASE("without a fault it is the identity") {
  Case c("none");
  CHECK(c.layer.forward(c.in)[0].numbers == c.in[0].numbers);
  CHECK(c.layer.backward(c.in)[0].numbers == c.in[0].numbers);
}

TEST_CASE("exceptions become codes, at the step and micro-batch asked for") {
  Case c("throw", {{"step", "2"}, {"micro_batch", "1"}});
  CHECK_NOTHROW(c.layer.forward(c.in));
  c.layer.call.step = 2;
  CHECK_NOTHROW(c.layer.forward(c.in));
  c.layer.call.micro_batch = 1;
  CHECK_THROWS_WITH(c.layer.forward(c.in), doctest::Contains("as told"));
  CHECK_THROWS_WITH(Case("throw", {{"in", "\"create\""}}), doctest::Contains("create"));
  CHECK_THROWS_WITH(Case("throw", {{"in", "\"infer\""}}), doctest::Contains("infer"));
  Case number("throw_int");
  CHECK_THROWS_WITH(number.layer.forward(number.in), doctest::Contains("unknown type"));
}

TEST_CASE("an escaping exception really leaves the plugin") {
  Case c("escape");
  CHECK_THROWS_AS(c.layer.forward(c.in), std::runtime_error);
  Case back("escape", {{"in", "\"backward\""}});
  back.layer.forward(back.in);
  CHECK_THROWS_AS(back.layer.backward(back.in), int);
}

TEST_CASE("wrong outputs") {
  const auto output = [](const char* fault) {
    Case c(fault);
    return c.layer.forward(c.in)[0];
  };
  CHECK(std::isnan(output("nan").numbers[0]));
  CHECK(output("squeeze").shape == std::vector<int64_t>{3, 2});
  CHECK(output("wide").shape == std::vector<int64_t>{1, 3, 3});
  CHECK(output("no_output").shape.empty());
  Case c("transpose");
  CHECK(c.layer.forward(c.in)[0].numbers == c.in[0].numbers);
}

TEST_CASE("an infinite gradient, in backward") {
  Case c("inf_gradient", {{"in", "\"backward\""}});
  c.layer.forward(c.in);
  c.layer.backward(c.in);
  CHECK(std::isinf(c.layer.grad("weight")[0]));
}

TEST_CASE("memory beyond the budget is refused") {
  Case c("over_memory", {{"bytes", "1000000"}});
  c.layer.origin.budget = 500000;
  CHECK_THROWS_WITH(c.layer.forward(c.in), doctest::Contains("budget"));
  CHECK(c.layer.origin.live == 0);
}

TEST_CASE("slow sleeps") {
  Case c("slow", {{"ms", "30"}});
  const auto begin = std::chrono::steady_clock::now();
  c.layer.forward(c.in);
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(30));
}
