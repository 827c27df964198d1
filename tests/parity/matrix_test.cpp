// Every model x devices x policy x schedule equals one device bit for bit: losses, every gradient, the clip norm, and
// the weights and buffers after the steps. One process for each model.
#include "matrix.hpp"

#include "models.hpp"

namespace {

void whole_matrix(const std::string& layers) {
  parity::Matrix matrix(layers, "cpu:");
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
