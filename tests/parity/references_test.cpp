// Models of the forums, from the weights of plain PyTorch programs: the same losses and gradients as those programs.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/dtype.hpp"
#include "config/config.hpp"
#include "engine/pipe.hpp"
#include "plan/plan.hpp"
#include "store/safetensors.hpp"
#include "train/batch_spec.hpp"
#include "train/weights.hpp"

namespace {

using namespace switchyard;
namespace fs = std::filesystem;

fs::path source() { return std::getenv("SWITCHYARD_SOURCE"); }
/// Where the reference models lie, beside the repository; empty: they are not here.
fs::path references() {
  const char* given = std::getenv("SWITCHYARD_SHARED");
  const fs::path shared = given ? fs::path(given) : source().parent_path() / "shared";
  return fs::is_directory(shared / "data/reference") ? shared / "data/reference" : fs::path();
}

HostTensor load(const SafetensorsFile& file, const char* name) {
  const TensorInfo& info = file.at(name);
  HostTensor t;
  t.reset(info.dtype, info.shape);
  std::memcpy(t.bytes().data(), file.bytes(info).data(), t.bytes().size());
  return t;
}

struct Reference {
  nlohmann::json expected;
  Batch batch;
  std::unique_ptr<Pipe> pipe;
};

Reference open(const std::string& folder, const std::string& toml, std::vector<std::string> sets = {}) {
  const fs::path from = references() / folder;
  Reference r;
  r.expected = nlohmann::json::parse(std::ifstream(from / "expected.json"));
  const SafetensorsFile tensors = SafetensorsFile::open((from / "expected.safetensors").string());
  r.batch.inputs = load(tensors, "inputs");
  r.batch.targets = load(tensors, "targets");
  sets.push_back("model.weights.file=" + (from / "model.safetensors").string());
  const Config config = load_config((source() / "tests/parity" / toml).string(), sets);
  static Registry registry({}, {});
  std::unique_ptr<Model> model = open_model(config, registry, false).model;
  const AssignedWeights weights = assign_weights(*model, *config.model.weights);
  Plan plan = make_plan(config, registry, *model);
  CHECK(plan.stages.size() > 1);
  r.pipe = Pipe::build(config, registry, std::move(model), std::move(plan));
  place_weights(*r.pipe, weights);
  return r;
}

double norm_of_gradient(const Pipe& pipe, const Parameter& p) {
  std::vector<float> g(static_cast<std::size_t>(p.count()));
  pipe.read_gradient(p.index, g);
  double sum = 0;
  for (const float x : g) sum += double{x} * x;
  return std::sqrt(sum);
}

/// PyTorch's name for one of ours: the rename rules backwards, by the order of tensors in the file is not enough, so by
/// value: the reference lists each norm under its own name, and both lists hold the same multiset.
void check_gradient_norms(Reference& r) {
  std::vector<double> ours, theirs;
  for (const Parameter& p : r.pipe->model().parameters())
    if (p.trainable && !p.is_tied()) ours.push_back(norm_of_gradient(*r.pipe, p));
  for (const auto& [name, norm] : r.expected["grad_norms"].items()) theirs.push_back(norm);
  std::sort(ours.begin(), ours.end());
  std::sort(theirs.begin(), theirs.end());
  REQUIRE(ours.size() == theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    CAPTURE(i);
    // Biases in front of a batch norm have no gradient but rounding.
    if (theirs[i] < 1e-6)
      CHECK(ours[i] < 1e-6);
    else
      CHECK(std::abs(ours[i] - theirs[i]) <= 1e-4 * theirs[i] + 1e-7);
  }
}

/// Twenty steps of Adam on the same batch.
std::vector<double> train(Reference& r) {
  std::vector<double> losses;
  for (int step = 1; step <= 20; ++step)
    losses.push_back(r.pipe->step(r.batch, static_cast<uint64_t>(step), 1e-3).loss);
  return losses;
}

void reproduce(const std::string& folder, const std::string& toml) {
  if (references().empty()) {
    std::cout << "[skipped] the reference models are not here\n";
    return;
  }
  Reference r = open(folder, toml);
  r.pipe->gradients(r.batch, 1);
  check_gradient_norms(r);
  const std::vector<double> losses = train(r);
  const std::vector<double> theirs = r.expected["losses"];
  CHECK(std::abs(losses[0] - theirs[0]) <= 1e-5 * theirs[0]);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(losses[i] - theirs[i]) <= 1e-3 * theirs[i]);
  }
}

}  // namespace

TEST_CASE("the forum's GPT, dealt to two devices") {
  reproduce("gpt-unmasked-roundrobin", "gpt_unmasked_roundrobin.toml");
}
TEST_CASE("the split transformer with batch norms") { reproduce("split-transformer-bn", "split_transformer_bn.toml"); }
TEST_CASE("the residual convolutional net with a long skip") { reproduce("conv-skip-bn", "conv_skip_bn.toml"); }
TEST_CASE("the MLP with batch norms") { reproduce("mlp-batchnorm", "mlp_batchnorm.toml"); }

TEST_CASE("the split transformer in half precision follows its curve in fp32") {
  if (references().empty()) {
    std::cout << "[skipped] the reference models are not here\n";
    return;
  }
  for (const char* type : {"fp16", "bf16"}) {
    CAPTURE(type);
    Reference r = open("split-transformer-bn", "split_transformer_bn.toml",
                       {"precision.type=" + std::string(type), "precision.keep_fp32=[\"type:batchnorm*\"]"});
    const std::vector<double> losses = train(r);
    const std::vector<double> theirs = r.expected["losses"];
    for (std::size_t i = 0; i < losses.size(); ++i) {
      CAPTURE(i);
      CHECK(std::abs(losses[i] - theirs[i]) <= 0.05 * theirs[0]);
    }
  }
}
