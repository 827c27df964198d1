// The opened backend: devices that were used so far, their pools, and which pairs of them copy directly.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "switchyard/backend.h"

/// One device's queue of work.
struct sy_stream {
  int device;
  cudaStream_t native;
};

struct sy_event {
  int device;
  bool timed;
  cudaEvent_t native;
};

struct sy_graph {
  int device;
  cudaGraphExec_t native;
};

/// Every function: [any]. Nothing of a device is touched before it is named.
struct sy_backend {
 public:
  enum class PeerToPeer { automatic, off, force };
  /// Throws sy::fault(SY_E_UNAVAILABLE): no driver, or no device is visible.
  explicit sy_backend(PeerToPeer p2p);
  ~sy_backend();
  sy_backend(const sy_backend&) = delete;
  sy_backend& operator=(const sy_backend&) = delete;

  int devices() const { return devices_; }
  /// The ordinal; throws sy::fault(SY_E_ARGUMENT) for another type, or one that is not there.
  int ordinal(sy_device device) const;

  /// Memory of the device's own pool, which keeps what was freed. Throws SY_E_NO_MEMORY with asked, free and total.
  void* allocate(int device, uint64_t bytes, cudaStream_t stream);
  /// Pinned host memory.
  void* allocate_host(uint64_t bytes);

  /// How copies from one device to another go. Looked into once for each ordered pair, at its first copy: a random
  /// pattern is sent there and compared. Waits then. Throws SY_E_UNAVAILABLE where what is wished for does not work.
  enum class Way { direct, through_host };
  Way way(int from, int to);

 private:
  cudaMemPool_t pool(int device);
  cudaMemPool_t pool_locked(int device);
  Way look_into(int from, int to);

  PeerToPeer p2p_;
  int devices_ = 0;
  std::mutex mutex_;
  std::map<int, cudaMemPool_t> pools_;
  std::map<std::pair<int, int>, Way> ways_;
};
