// One rank of an NCCL group. The communicator of NCCL is made without blocking: its calls return at once and finish on
// a thread of NCCL's, so that an abort can always get through.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>

#include "library.hpp"
#include "switchyard/cpp/comm.hpp"

namespace sy::nccl {

class Communicator {
 public:
  static constexpr const char* id = "nccl";
  static constexpr const char* help = "between NVIDIA GPUs, of one host or of many";
  static constexpr int32_t device_type = SY_DEVICE_CUDA;

  static std::vector<char> make_id(const sy_config*);

  /// The device must be the calling thread's current one, as it is in every call by the core.
  Communicator(const sy_config*, const joining& at, const std::atomic<bool>& aborted);
  /// Flushes and waits for the ranks of this host, for ten seconds at most; what was aborted or failed is dropped.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  sy_rc status();
  void abort();

  void exchange(std::span<const transfer> transfers, void* stream);
  void all_reduce(void* to, const void* from, int64_t count, sy_dtype dtype, void* stream);
  void reduce_scatter(void* to, const void* from, int64_t count, sy_dtype dtype, void* stream);
  void all_gather(void* to, const void* from, int64_t count, sy_dtype dtype, void* stream);
  void broadcast(void* both, int64_t count, sy_dtype dtype, int32_t root, void* stream);

 private:
  using Operation = std::function<ncclResult_t(ncclComm_t)>;
  /// Returns once the operation is on its stream.
  void enqueue(const char* what, const Operation& operation);
  /// ncclInProgress or ncclSuccess; throws what became of the group.
  ncclResult_t progress(const char* what);
  [[noreturn]] void fail(const char* what, ncclResult_t code) const;

  const int device_;
  const std::atomic<bool>& aborted_;
  std::mutex mutex_;           // no call of NCCL's runs beside another, or after the abort
  ncclComm_t comm_ = nullptr;  // NULL: aborted
  bool joined_ = false;
  bool failed_ = false;
};

}  // namespace sy::nccl
