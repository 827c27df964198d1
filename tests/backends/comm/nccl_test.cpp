// The cases over NCCL: with one GPU, with two in one process and in two.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cstdio>
#include <future>
#include <string>

#include "cases.hpp"
#include "scratch.hpp"

using namespace comm_test;

namespace {

bool fewer_gpus_than(int wanted) {
  int found = 0;
  if (cudaGetDeviceCount(&found) != cudaSuccess) found = 0;
  if (found >= wanted) return false;
  std::printf("[skipped] %d GPUs are needed, %d found\n", wanted, found);
  return true;
}

/// One thread for each rank, on a GPU of its own.
void in_one_process(int ranks) {
  const Scratch folder;
  std::vector<std::future<std::vector<std::string>>> running;
  for (int r = 0; r < ranks; ++r)
    running.push_back(std::async(std::launch::async, run_cases, Place{"nccl", "cuda", r, r, ranks, folder.path()}));
  for (auto& rank : running)
    for (const std::string& wrong : rank.get()) FAIL_CHECK(wrong);
}

}  // namespace

TEST_CASE("without a GPU the plugin loads, and says what is missing") {
  int n = 0;
  if (cudaGetDeviceCount(&n) == cudaSuccess && n > 0) return;
  const auto& api = fake::table<sy_comm_api>(fake::plugin("plugins/sy-comm-nccl.so"), SY_KIND_COMM, "nccl");
  CHECK(api.device_type == SY_DEVICE_CUDA);
  char id[128];
  uint32_t bytes = 0;
  sy_error* err = nullptr;
  CHECK(api.make_id(fake::host(), nullptr, id, sizeof id, &bytes, &err) == SY_E_UNAVAILABLE);
  const std::string text = fake::taken(err).second;
  CAPTURE(text);
  const bool clear =
      text.find("no NVIDIA driver is installed") != text.npos || text.find("no GPU can be used") != text.npos;
  CHECK(clear);  // and not that NCCL is: its library was found, with all its functions
}

TEST_CASE("one GPU") {
  if (fewer_gpus_than(1)) return;
  in_one_process(1);
}

TEST_CASE("two GPUs, two threads") {
  if (fewer_gpus_than(2)) return;
  in_one_process(2);
}

TEST_CASE("two GPUs, two processes") {
  if (fewer_gpus_than(2)) return;
  const Scratch folder;
  std::vector<std::future<int>> running;
  for (int r = 0; r < 2; ++r)
    running.push_back(std::async(std::launch::async, [&folder, r] {
      const std::string rank = std::to_string(r);
      return folder.run(comm_rank() + " nccl cuda " + rank + " " + rank + " 2 " + folder.path().string(),
                        "rank" + rank);
    }));
  for (int r = 0; r < 2; ++r) {
    CAPTURE(r);
    CHECK(running[r].get() == 0);
  }
}
