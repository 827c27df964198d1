// Every model x devices x policy x schedule equals one device bit for bit: losses, every gradient, the clip norm, and
// the weights and buffers after the steps. One process for each model.

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "../core/engine/plain_model.hpp"
#include "models.hpp"

namespace {

using namespace plain;

std::string use(int devices) {
  std::string list;
  for (int d = 0; d < devices; ++d) list += (d ? ", " : "") + std::string("\"cpu:") + std::to_string(d) + "\"";
  return "devices.use=[" + list + "]";
}

int devices_used(const Plan& plan) {
  std::set<int> used;
  for (const Stage& s : plan.stages) used.insert(s.device);
  return static_cast<int>(used.size());
}

struct Case {
  int devices;
  const char* policy;
  const char* schedule;
  int micro_batches;
  const char* recompute;
};

class Matrix {
 public:
  explicit Matrix(const std::string& layers) : text_(layers + training) {
    for (const LayerEntry& l : parse_config(text_, "test.toml", {}).layers) names_.push_back(l.name);
  }

  void check(const Case& c) {
    CAPTURE(c.devices);
    CAPTURE(std::string(c.policy));
    CAPTURE(std::string(c.schedule));
    CAPTURE(c.micro_batches);
    CAPTURE(std::string(c.recompute));
    auto pipe = build(text_, sets(c));
    if (std::string(c.policy) == "memory_balanced")
      CHECK(devices_used(pipe->plan()) >= std::min(c.devices, 3));  // may leave some out
    else
      CHECK(devices_used(pipe->plan()) == c.devices);
    CHECK(train(*pipe, steps) == one_device(c.micro_batches));
  }

 private:
  static constexpr int steps = 2;

  /// "chunks" and "v" are contiguous with two runs on each device, in rounds or back and forth.
  std::vector<std::string> sets(const Case& c) const {
    const std::string policy = c.policy;
    const bool chunks = policy == "chunks" || policy == "v";
    std::vector<std::string> all = {use(c.devices), "placement.policy=" + (chunks ? "contiguous" : policy),
                                    "schedule.type=" + std::string(c.schedule),
                                    "schedule.micro_batches=" + std::to_string(c.micro_batches),
                                    "train.recompute=" + std::string(c.recompute)};
    if (chunks) all.push_back("placement.contiguous.chunks=2");
    if (policy == "v") all.push_back("placement.contiguous.order=v");
    const std::size_t n = names_.size();
    for (std::size_t l = 0; std::string(c.policy) == "explicit" && l < n;
         ++l)  // from the last device back to the first
      all.push_back("placement.explicit.\"" + names_[l] +
                    "\"=cpu:" + std::to_string(c.devices - 1 - static_cast<int>(l * c.devices / n)));
    return all;
  }

  const Trace& one_device(int micro_batches) {
    auto found = alone_.find(micro_batches);
    if (found == alone_.end()) {
      auto pipe = build(text_, {use(1), "schedule.micro_batches=" + std::to_string(micro_batches)}, true);
      found = alone_.emplace(micro_batches, train(*pipe, steps)).first;
    }
    return found->second;
  }

  std::string text_;
  std::vector<std::string> names_;
  std::map<int, Trace> alone_;
};

void whole_matrix(const std::string& layers) {
  Matrix matrix(layers);
  for (const char* policy : {"round_robin", "contiguous", "memory_balanced", "explicit"})
    for (const char* schedule : {"gpipe", "1f1b"}) {
      for (const int devices : {1, 2, 3, 8}) matrix.check({devices, policy, schedule, 4, "false"});
      for (const int micro_batches : {1, 2, 8})
        for (const char* recompute : {"false", "true"}) matrix.check({2, policy, schedule, micro_batches, recompute});
    }
  for (const char* policy : {"round_robin", "chunks", "v"})
    for (const char* schedule : {"interleaved", "zb_h1", "zbv"})
      for (const char* recompute : {"false", "true"}) matrix.check({2, policy, schedule, 4, recompute});
}

}  // namespace

TEST_CASE("gpt") { whole_matrix(models::all()[0].layers); }
TEST_CASE("tied gpt with dropout") { whole_matrix(models::all()[1].layers); }
TEST_CASE("split transformer") { whole_matrix(models::all()[2].layers); }
TEST_CASE("convolutional, statistics per micro-batch") { whole_matrix(models::all()[3].layers); }
TEST_CASE("convolutional, deferred statistics") { whole_matrix(models::all()[4].layers); }
TEST_CASE("mlp") { whole_matrix(models::all()[5].layers); }
