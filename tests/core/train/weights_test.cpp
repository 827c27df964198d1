#include "train/weights.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "small_models.hpp"
#include "store/safetensors.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

std::vector<float> read_value(Session& session, const std::string& name) {
  for (const Parameter& p : session.model().parameters()) {
    if (p.name != name) continue;
    std::vector<float> value(static_cast<std::size_t>(p.count()));
    session.pipe().read({p.index, -1}, std::as_writable_bytes(std::span(value)));
    return value;
  }
  return {};
}

/// A file with the model's tensors under other names, and some more.
void write_renamed(const std::string& path, const std::string& run, const std::vector<std::string>& more = {}) {
  const Checkpoint checkpoint = open_checkpoint(run);
  std::vector<TensorSource> tensors;
  for (const TensorInfo& t : checkpoint.model.tensors())
    tensors.push_back({"net." + t.name, t.dtype, t.shape, fill_from(checkpoint.model.bytes(t))});
  const TensorInfo& table = checkpoint.model.at("embed.token.weight");
  for (const std::string& name : more)
    tensors.push_back({name, table.dtype, table.shape, fill_from(checkpoint.model.bytes(table))});
  write_safetensors(path, tensors);
}

}  // namespace

TEST_CASE("[model] weights are renamed and placed, under any plan") {
  const Workshop shop;
  train(shop.text(), shop / "run", {"train.steps=2"});
  write_renamed(shop / "w.safetensors", shop / "run");
  const std::string set = "model.weights={file='" + (shop / "w.safetensors") + "', rename={'net.*'='*'}}";
  std::vector<std::string> sets = other_plan;
  sets.push_back(set);
  for (const std::vector<std::string>& each : {std::vector<std::string>{set}, sets}) {
    auto session = open(shop.text(), each);
    session->save(shop / "again");
    CHECK(model_file(shop / "again") == model_file(shop / "run"));
    CHECK(session->step() == 0);
    CHECK(read_value(*session, "head.weight") == read_value(*session, "embed.token.weight"));
  }
}

TEST_CASE("what is left over, missing or shaped otherwise is refused before weights are placed") {
  const Workshop shop;
  train(shop.text(), shop / "run", {"train.steps=0"});
  write_renamed(shop / "w.safetensors", shop / "run", {"spare"});
  const auto placed = [&](const std::string& more) {
    return failure(
        [&] { open(shop.text(), {"model.weights={file='" + (shop / "w.safetensors") + "', " + more + "}"})->check(); });
  };
  CHECK(contains(placed("rename={'net.*'='*'}"), "65 "));
  CHECK(contains(placed("rename={'net.*'='*'}"), "'spare' [256, 8] is no tensor of the model"));
  CHECK(placed("rename={'net.*'='*'}, allow_unused=['spare']") == "");
  CHECK(contains(placed("allow_unused=true"), "the file has no 'a.weight' [8, 8]"));
}

TEST_CASE("a tied table that the file holds twice must be the same") {
  const Workshop shop;
  train(shop.text(), shop / "run", {"train.steps=0"});
  const auto placed = [&] {
    return failure([&] {
      open(shop.text(), {"model.weights={file='" + (shop / "w.safetensors") + "', rename={'net.*'='*'}}"})->check();
    });
  };
  write_renamed(shop / "w.safetensors", shop / "run", {"net.head.weight"});
  CHECK(placed() == "");
  const Checkpoint checkpoint = open_checkpoint(shop / "run");
  std::vector<TensorSource> tensors;
  const std::vector<std::byte> zeros(256 * 8 * 4);
  for (const TensorInfo& t : checkpoint.model.tensors())
    tensors.push_back({"net." + t.name, t.dtype, t.shape, fill_from(checkpoint.model.bytes(t))});
  tensors.push_back({"net.head.weight", dtype::f32, {256, 8}, fill_from(zeros)});
  write_safetensors(shop / "w.safetensors", tensors);
  CHECK(contains(placed(), "'head.weight' is tied to 'embed.token.weight', but the file holds other values"));
}

TEST_CASE("a missing file is named with its key") {
  const Workshop shop;
  CHECK(contains(failure([&] { open(shop.text(), {"model.weights={file='/nowhere/w.safetensors'}"})->check(); }),
                 "model.weights: "));
}
