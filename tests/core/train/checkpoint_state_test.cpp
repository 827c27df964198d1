#include "train/checkpoint_state.hpp"

#include <doctest/doctest.h>

#include "small_models.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

std::vector<std::string> names(const SafetensorsFile& file) {
  std::vector<std::string> all;
  for (const TensorInfo& t : file.tensors()) all.push_back(t.name);
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

TEST_CASE("the model file holds every weight once, by full name, and nothing of time or plan") {
  const Workshop shop;
  train(shop.text(), shop / "run", {"train.steps=1"});
  const Checkpoint checkpoint = open_checkpoint(shop / "run");
  CHECK(names(checkpoint.model) == std::vector<std::string>{"a.bias", "a.weight", "b.bias", "b.weight",
                                                            "embed.position.weight", "embed.token.weight", "norm.bias",
                                                            "norm.weight"});
  CHECK(checkpoint.model.metadata() == std::map<std::string, std::string>{{"format", "pt"}});
  CHECK(names(checkpoint.optimizer).size() == 16);
  CHECK(checkpoint.state().at("samples") == "4");
  CHECK(checkpoint.state().at("optimizer") == "adamw");
}

TEST_CASE("bf16 weights are kept as fp32 masters; buffers in their own type") {
  const Workshop shop;
  train(shop.table(), shop / "run", {"train.steps=1", "precision.type=bf16"});
  const Checkpoint checkpoint = open_checkpoint(shop / "run");
  CHECK(checkpoint.model.at("one.weight").dtype == dtype::f32);
  CHECK(checkpoint.model.at("bn.running_mean").dtype == dtype::f32);
  CHECK(checkpoint.model.at("bn.num_batches_tracked").dtype == dtype::i64);
}

TEST_CASE("a checkpoint of another model is refused with every tensor that does not fit, and changes nothing") {
  const Workshop shop;
  train(shop.text(), shop / "run", {"train.steps=1"});
  auto session = open(shop.text(), {"layer.a.out=9", "layer.b.name=c"});
  session->save(shop / "before");
  const std::string text = failure([&] { session->load(shop / "run"); });
  CHECK(contains(text, "65 "));
  CHECK(contains(text, "'a.weight' is [8, 8] in the file, the model needs [9, 8]"));
  CHECK(contains(text, "the file has no 'c.weight'"));
  CHECK(contains(text, "the file's 'b.weight'"));
  session->save(shop / "after");
  CHECK(model_file(shop / "before") == model_file(shop / "after"));
}

TEST_CASE("another optimizer's states are missed by name, with what to do") {
  const Workshop shop;
  train(shop.table(), shop / "run", {"train.steps=1", "train.optimizer={type='sgd',lr=0.1}"});
  const std::string text = failure([&] { resume(shop.table(), shop / "run"); });
  CHECK(contains(text, "the checkpoint has no optimizer state 'one.weight."));
  CHECK(contains(text, "it was trained with 'sgd'"));
  CHECK(contains(text, "model.weights = { file = "));
}

TEST_CASE("broken counters are named") {
  const Workshop shop;
  auto session = open(shop.text());
  CheckpointContent content = checkpoint_content(session->pipe(), session->state());
  content.state["applied_steps"] = "many";
  save_checkpoint(shop / "run", 3, content, 1);
  CHECK(contains(failure([&] { session->load(shop / "run"); }),
                 "optimizer.safetensors: the metadata has no number 'applied_steps'"));
}

TEST_CASE("a run is opened with its own configuration and weights") {
  const Workshop shop;
  train(shop.text(), shop / "run");
  auto trained = open(shop / "run", {}, Purpose::generate);
  auto fresh = open(shop.text(), {}, Purpose::generate);
  const GenerateRequest request = GenerateRequest::from(trained->config());
  CHECK(trained->generate(request).ids != fresh->generate(request).ids);
  fresh->load(shop / "run");
  CHECK(trained->generate(request).ids == fresh->generate(request).ids);
}
