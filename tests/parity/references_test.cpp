// Models of the forums, from the weights of plain PyTorch programs: the same losses and gradients as those programs.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

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
/// A reference model: small ones lie here, larger ones beside the repository. Nothing, and a word: it is not here.
std::optional<fs::path> find_reference(const std::string& name) {
  const char* given = std::getenv("SWITCHYARD_SHARED");
  const fs::path shared = given ? fs::path(given) : source().parent_path() / "shared";
  for (const fs::path& folder : {source() / "tests/parity/references", shared / "data/reference"})
    if (fs::is_directory(folder / name)) return folder / name;
  std::cout << "[skipped] the reference model " << name << " is not here\n";
  return std::nullopt;
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
  std::map<std::string, std::string> file_names;  // our names -> those of the weights' file
  Batch batch;
  std::unique_ptr<Pipe> pipe;
};

Reference open(const fs::path& from, const std::string& toml, std::vector<std::string> sets = {}) {
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
  for (const auto& [name, place] : weights.tensors) r.file_names[name] = place.tensor->name;
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

/// Each gradient against the norm that the reference lists under the name of the tensor that its weight was loaded
/// from.
void check_gradient_norms(const Reference& r) {
  const nlohmann::json& norms = r.expected["grad_norms"];
  std::size_t compared = 0;
  for (const Parameter& p : r.pipe->model().parameters()) {
    if (!p.trainable || p.is_tied()) continue;
    CAPTURE(p.name);
    const std::string& name = r.file_names.at(p.name);
    REQUIRE(norms.contains(name));
    const double theirs = norms[name], ours = norm_of_gradient(*r.pipe, p);
    // Biases in front of a batch norm have no gradient but rounding.
    if (theirs < 1e-6)
      CHECK(ours < 1e-6);
    else
      CHECK(std::abs(ours - theirs) <= 1e-4 * theirs + 1e-7);
    ++compared;
  }
  CHECK(compared == norms.size());
}

/// Twenty steps of Adam on the same batch.
std::vector<double> train(Reference& r) {
  std::vector<double> losses;
  for (int step = 1; step <= 20; ++step)
    losses.push_back(r.pipe->step(r.batch, static_cast<uint64_t>(step), 1e-3).loss);
  return losses;
}

void reproduce(const std::string& name, const std::string& toml) {
  const std::optional<fs::path> folder = find_reference(name);
  if (!folder) return;
  Reference r = open(*folder, toml);
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
  const std::optional<fs::path> folder = find_reference("split-transformer-bn");
  if (!folder) return;
  for (const char* type : {"fp16", "bf16"}) {
    CAPTURE(type);
    Reference r = open(*folder, "split_transformer_bn.toml",
                       {"precision.type=" + std::string(type), "precision.keep_fp32=[\"type:batchnorm*\"]"});
    const std::vector<double> losses = train(r);
    const std::vector<double> theirs = r.expected["losses"];
    for (std::size_t i = 0; i < losses.size(); ++i) {
      CAPTURE(i);
      CHECK(std::abs(losses[i] - theirs[i]) <= 0.05 * theirs[0]);
    }
  }
}
