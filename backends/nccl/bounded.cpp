#include "bounded.hpp"

#include <cuda_runtime_api.h>

#include <future>
#include <thread>

namespace sy::nccl {

bool runs_within(std::chrono::seconds patience, int device, std::function<void()> body) {
  std::promise<void> ended;
  const std::future<void> end = ended.get_future();
  std::thread([device, body = std::move(body), ended = std::move(ended)]() mutable {
    cudaSetDevice(device);
    body();
    ended.set_value();
  }).detach();
  return end.wait_for(patience) == std::future_status::ready;
}

}  // namespace sy::nccl
