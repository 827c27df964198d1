// One GPU posing as several devices, and two GPUs, equal one device bit for bit.
#include "../parity/matrix.hpp"

#include "../parity/models.hpp"
#include "gpu.hpp"

namespace {

/// `device`: what device names begin with.
void check_plans(const std::string& device, int most) {
  for (const models::Named& model : models::all())
    for (const char* precision : {"fp32", "bf16"}) {
      CAPTURE(std::string(model.name));
      CAPTURE(std::string(precision));
      parity::Matrix matrix(model.layers, device,
                            {"train.deterministic=true", "precision.type=" + std::string(precision)});
      for (const char* policy : {"round_robin", "contiguous", "memory_balanced", "explicit"})
        for (const char* schedule : {"gpipe", "1f1b"})
          for (const int devices : {2, 3, 8})
            if (devices <= most) matrix.check({devices, policy, schedule, 4, "false"});
      matrix.check({2, "contiguous", "1f1b", 8, "true"});
      for (const char* schedule : {"interleaved", "zb_h1", "zbv"}) matrix.check({2, "chunks", schedule, 4, "false"});
    }
}

}  // namespace

TEST_CASE("parts of one GPU equal one device") {
  if (gpu::skipped()) return;
  check_plans("cuda:0/", 8);
}

TEST_CASE("two GPUs equal one") {
  if (gpu::skipped() || gpu::fewer_than(2)) return;
  check_plans("cuda:", 2);
}
