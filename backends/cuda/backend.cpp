#include "backend.hpp"

#include "current.hpp"
#include "failure.hpp"
#include "peer_proof.hpp"
#include "switchyard/cpp/plugin.hpp"

using namespace sy;
using namespace sy::cuda;

sy_backend::sy_backend(PeerToPeer p2p) : p2p_(p2p) {
  const cudaError_t code = cudaGetDeviceCount(&devices_);
  if (code == cudaSuccess && devices_ > 0) return;
  cudaGetLastError();
  if (code == cudaSuccess || code == cudaErrorNoDevice)
    throw fault(SY_E_UNAVAILABLE, "no GPU is visible (" + visible_devices() + ")");
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
    throw fault(SY_E_UNAVAILABLE, "no NVIDIA driver is installed");
  throw fault(SY_E_UNAVAILABLE, "CUDA cannot be used: " + text_of(code) + " (" + visible_devices() + ")");
}

sy_backend::~sy_backend() {
  for (const auto& [device, pool] : pools_) {
    const Current current(device);
    cudaMemPoolDestroy(pool);
  }
}

int sy_backend::ordinal(sy_device device) const {
  if (device.type != SY_DEVICE_CUDA)
    throw fault(SY_E_ARGUMENT, "expected a device cuda:0, cuda:1, ..., found type " + std::to_string(device.type) +
                                   ", index " + std::to_string(device.index));
  if (device.index < 0 || device.index >= devices_)
    throw fault(SY_E_ARGUMENT, "cuda:" + std::to_string(device.index) + " is not there: " + std::to_string(devices_) +
                                   (devices_ == 1 ? " GPU is" : " GPUs are") + " visible (" + visible_devices() + ")");
  return device.index;
}

cudaMemPool_t sy_backend::pool(int device) {
  const std::lock_guard lock(mutex_);
  return pool_locked(device);
}

cudaMemPool_t sy_backend::pool_locked(int device) {
  const auto found = pools_.find(device);
  if (found != pools_.end()) return found->second;
  cudaMemPoolProps wanted{};
  wanted.allocType = cudaMemAllocationTypePinned;
  wanted.location.type = cudaMemLocationTypeDevice;
  wanted.location.id = device;
  cudaMemPool_t made = nullptr;
  must(cudaMemPoolCreate(&made, &wanted), "making the memory pool of cuda:" + std::to_string(device));
  uint64_t keep = UINT64_MAX;
  cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &keep);
  return pools_[device] = made;
}

void* sy_backend::allocate(int device, uint64_t bytes, cudaStream_t stream) {
  const cudaMemPool_t from = pool(device);
  void* memory = nullptr;
  cudaError_t code = cudaMallocFromPoolAsync(&memory, bytes > 0 ? bytes : 1, from, stream);
  if (code == cudaErrorMemoryAllocation) {  // what the pool kept may be in pieces
    cudaGetLastError();
    cudaStreamSynchronize(stream);
    cudaMemPoolTrimTo(from, 0);
    code = cudaMallocFromPoolAsync(&memory, bytes > 0 ? bytes : 1, from, stream);
  }
  const std::string name = "cuda:" + std::to_string(device);
  if (code == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    throw fault(SY_E_NO_MEMORY, "out of memory on " + name + ": asked for " + std::to_string(bytes) + " bytes, " +
                                    std::to_string(free) + " of " + std::to_string(total) + " are free");
  }
  must(code, "allocating " + std::to_string(bytes) + " bytes on " + name);
  return memory;
}

void* sy_backend::allocate_host(uint64_t bytes) {
  void* memory = nullptr;
  const cudaError_t code = cudaHostAlloc(&memory, bytes > 0 ? bytes : 1, cudaHostAllocPortable);
  if (code == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw fault(SY_E_NO_MEMORY, "out of pinned host memory: asked for " + std::to_string(bytes) + " bytes");
  }
  must(code, "allocating " + std::to_string(bytes) + " bytes of pinned host memory");
  return memory;
}

sy_backend::Way sy_backend::way(int from, int to) {
  const std::lock_guard lock(mutex_);
  const auto found = ways_.find({from, to});
  if (found != ways_.end()) return found->second;
  return ways_[{from, to}] = look_into(from, to);
}

sy_backend::Way sy_backend::look_into(int from, int to) {
  if (p2p_ == PeerToPeer::off) return Way::through_host;
  const std::string wrong = peer_copies_fail(from, pool_locked(from), to, pool_locked(to));
  if (wrong.empty()) return Way::direct;
  if (p2p_ == PeerToPeer::force)
    throw fault(SY_E_UNAVAILABLE, "devices.p2p = \"force\", but copies from cuda:" + std::to_string(from) +
                                      " to cuda:" + std::to_string(to) + " do not work: " + wrong +
                                      "; \"auto\" sends them through host memory");
  const std::string text = "copies from cuda:" + std::to_string(from) + " to cuda:" + std::to_string(to) +
                           " go through host memory, and are slow: " + wrong;
  host()->log(host()->self, nullptr, 3, "cuda", text.c_str());
  return Way::through_host;
}
