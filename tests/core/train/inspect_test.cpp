#include "train/inspect.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "small_models.hpp"
#include "train/sha256.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

const TensorRow& row(const Inventory& inventory, const std::string& name) {
  const auto found =
      std::find_if(inventory.tensors.begin(), inventory.tensors.end(), [&](auto& r) { return r.name == name; });
  REQUIRE(found != inventory.tensors.end());
  return *found;
}

/// Name and hash of what is no alias, sorted.
std::vector<std::string> hashes(const Inventory& inventory) {
  std::vector<std::string> all;
  for (const TensorRow& r : inventory.tensors)
    if (r.alias_of.empty()) all.push_back(r.name + " " + dtype_name(r.dtype) + " " + r.sha256);
  std::sort(all.begin(), all.end());
  return all;
}

Inventory look(const std::string& path, const std::vector<std::string>& sets = {}) {
  return inspect(path, sets, &registry());
}

}  // namespace

TEST_CASE("known hashes") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("a configuration, its run of no steps and its checkpoint file show the same tensors") {
  for (const char* type : {"fp32", "bf16"}) {
    for (const bool text : {true, false}) {
      CAPTURE(std::string(type));
      CAPTURE(text);
      const Workshop shop;
      const std::string config = text ? shop.text() : shop.table();
      const std::vector<std::string> sets = {"train.steps=0", std::string("precision.type=") + type,
                                             text ? "layer.b.trainable=false" : "layer.two.trainable=false"};
      train(config, shop / "run", sets);
      const Inventory planned = look(config, sets), run = look(shop / "run"),
                      file = look(shop / "run/checkpoint/model.safetensors");
      CHECK(hashes(planned) == hashes(run));
      CHECK(hashes(planned) == hashes(file));
      CHECK(planned.sha256 == run.sha256);
      CHECK(planned.sha256 == file.sha256);
    }
  }
}

TEST_CASE("a tied table is an alias, counted once, and lies on both devices") {
  const Workshop shop;
  const Inventory inventory = look(shop.text());
  CHECK(row(inventory, "head.weight").alias_of == "embed.token.weight");
  CHECK(row(inventory, "head.weight").sha256 == row(inventory, "embed.token.weight").sha256);
  CHECK(inventory.parameters == 256 * 8 + 8 * 8 + 2 * (8 * 8 + 8) + 2 * 8);
  CHECK(inventory.trainable == inventory.parameters);
  CHECK(inventory.bytes == 4 * inventory.parameters);
  REQUIRE(inventory.devices.size() == 2);
  CHECK(inventory.devices[0].parameters + inventory.devices[1].parameters == inventory.parameters + 256 * 8);
  CHECK(row(inventory, "head.weight").device == "cpu:1");
  CHECK(row(inventory, "embed.token.weight").device == "cpu:0");
}

TEST_CASE("first weights depend on seed and name alone") {
  const Workshop shop;
  CHECK(look(shop.text()).sha256 == look(shop.text(), other_plan).sha256);
  CHECK(look(shop.text()).sha256 != look(shop.text(), {"seed=1"}).sha256);
}

TEST_CASE("buffers and frozen weights are told apart from what is trained") {
  const Workshop shop;
  const Inventory inventory = look(shop.table(), {"layer.one.trainable=false"});
  CHECK(row(inventory, "bn.running_mean").kind == "buffer");
  CHECK(row(inventory, "bn.num_batches_tracked").dtype == dtype::i64);
  CHECK(!row(inventory, "one.weight").trainable);
  CHECK(inventory.buffers == 6 + 6 + 1);
  CHECK(inventory.parameters - inventory.trainable == 2 * 6 + 6);
}

TEST_CASE("no device is touched: one that is not here can be looked at") {
  const Workshop shop;
  const Inventory inventory = look(shop.text(), {"devices.memory='1GiB'"});
  CHECK(inventory.tensors.size() == 9);
}

TEST_CASE("the JSON leaves out what a file does not tell") {
  const Workshop shop;
  train(shop.text(), shop / "run", {"train.steps=0"});
  const std::string file = inventory_json(look(shop / "run/checkpoint/model.safetensors"));
  CHECK(contains(file, R"({"name":"a.bias","shape":[8],"dtype":"fp32","kind":"tensor","sha256":")"));
  const std::string config = inventory_json(look(shop.text()));
  CHECK(contains(config,
                 R"("kind":"weight","trainable":true,"device":"cpu:1","alias_of":"embed.token.weight","sha256":")"));
  CHECK(contains(inventory_text(look(shop.text())), "parameters, "));
}
