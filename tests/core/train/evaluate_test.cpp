#include "train/evaluate.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "small_models.hpp"

using namespace switchyard;
using namespace switchyard::test;

TEST_CASE("the held-out loss is that of the end of training, and the same on any plan") {
  const Workshop shop;
  const TrainResult result = train(shop.text(), shop / "run");
  const Evaluation same = open(shop / "run", {}, Purpose::evaluate)->evaluate();
  CHECK(same.loss == result.val_loss);
  CHECK(same.samples == 5);
  CHECK(same.valid == 40);
  CHECK(same.accuracy);
  CHECK(same.tokens);
  CHECK(same.bytes);
  CHECK(same.perplexity() == std::exp(same.loss));
  CHECK(open(shop / "run", other_plan, Purpose::evaluate)->evaluate().loss == same.loss);
}

TEST_CASE("it is the mean over valid targets, whatever the batches are") {
  const Workshop shop;
  auto session = open(shop.table(), {}, Purpose::evaluate);
  const Evaluation all = session->evaluate();
  CHECK(all.samples == 6);
  double sum = 0, right = 0;
  for (std::int64_t sample = 0; sample < 6; ++sample) {
    Batch batch;
    session->data().validation->fill(std::span(&sample, 1), batch);
    const StepResult one = session->pipe().evaluate(batch);
    sum += one.loss;
    right += *one.accuracy;
  }
  CHECK(all.loss == doctest::Approx(sum / 6));
  CHECK(*all.accuracy == doctest::Approx(right / 6));
  CHECK(!all.tokens);
}

TEST_CASE("evaluation changes nothing, also behind dropout and a batch norm") {
  const Workshop shop;
  for (const std::string& config : {shop.text(), shop.table()}) {
    auto session = open(config);
    session->save(shop / "before");
    const double loss = session->evaluate().loss;
    CHECK(session->evaluate().loss == loss);
    session->save(shop / "after");
    CHECK(model_file(shop / "before") == model_file(shop / "after"));
  }
}

TEST_CASE("without a held-out part it is refused with the remedy") {
  const Workshop shop;
  const std::string text = failure([&] { open(shop.text(), {"data.validation=0"}, Purpose::evaluate); });
  CHECK(contains(text, "65 "));
  CHECK(contains(text, "nothing is held out: data.validation is 0; set it to a share"));
}

TEST_CASE("the JSON leaves out what has no meaning for the data") {
  Evaluation e{1.5, 10, 2, 0.5, false, false};
  CHECK(evaluation_json(e) == R"({"loss":1.5,"valid":10,"samples":2,"accuracy":0.5})");
  e.accuracy.reset();
  e.loss = 0;
  e.tokens = e.bytes = true;
  CHECK(evaluation_json(e) == R"({"loss":0.0,"valid":10,"samples":2,"perplexity":1.0,"nats_per_byte":0.0})");
}
