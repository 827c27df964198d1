// Ids and targets out of range are found before any layer runs.

#include "faulty_model.hpp"

namespace {

using namespace plain;

void check_refused(Pipe& pipe, const Batch& bad, const std::string& wanted) {
  const auto before = state_of(pipe);
  for (const Error& e : {error_of([&] { pipe.step(bad, 2, 1e-2); }), error_of([&] { pipe.evaluate(bad); })}) {
    CHECK(e.code() == SY_E_DATA);
    CHECK(std::string(e.what()) == wanted);
  }
  CHECK(state_of(pipe) == before);
}

}  // namespace

TEST_CASE("ids and targets out of range: id, row, column, limit; the pipe stays usable") {
  const std::string text = std::string(token_layers) + training;
  auto pipe = build(text), good = build(text);
  CHECK(train(*pipe, 1) == train(*good, 1));
  Batch b = batch_for(pipe->model(), 8, 2);
  const auto keep = b.inputs.values<int64_t>()[3 * 6 + 2], target = b.targets.values<int64_t>()[7 * 6 + 5];
  b.inputs.values<int64_t>()[3 * 6 + 2] = 11;
  check_refused(*pipe, b, "inputs: id 11 in row 3, column 2 is out of range: the limit is 11, ids are 0 .. 10");
  b.inputs.values<int64_t>()[3 * 6 + 2] = -1;
  check_refused(*pipe, b, "inputs: id -1 in row 3, column 2 is out of range: the limit is 11, ids are 0 .. 10");
  b.inputs.values<int64_t>()[3 * 6 + 2] = keep;
  b.targets.values<int64_t>()[7 * 6 + 5] = 11;
  check_refused(*pipe, b, "targets: id 11 in row 7, column 5 is out of range: the limit is 11, ids are 0 .. 10");
  b.targets.values<int64_t>()[7 * 6 + 5] = target;
  CHECK(train(*pipe, 2, 2) == train(*good, 2, 2));
}

TEST_CASE("the id to ignore is no mistake among targets, and one among inputs") {
  auto pipe = build(std::string(token_layers) + training);
  Batch b = batch_for(pipe->model(), 8, 1);
  b.targets.values<int64_t>()[0] = -100;
  CHECK(pipe->step(b, 1, 1e-2).valid == 8 * 6 - 1);
  b.inputs.values<int64_t>()[0] = -100;
  CHECK_THROWS_AS(pipe->step(b, 2, 1e-2), Error);
}

TEST_CASE("predictions check ids too") {
  auto pipe = build(std::string(token_layers) + training);
  HostTensor ids;
  ids.reset(dtype::i64, {1, 3});
  for (int64_t i = 0; i < 3; ++i) ids.values<int64_t>()[i] = i;
  ids.values<int64_t>()[1] = 64;
  CHECK(contains(error_of([&] { pipe->forward(ids, true); }).what(), "id 64 in row 0, column 1 is out of range"));
  ids.values<int64_t>()[1] = 0;
  CHECK_NOTHROW(pipe->forward(ids, true));
}
