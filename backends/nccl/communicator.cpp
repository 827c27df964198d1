#include "communicator.hpp"

#include <cuda_runtime_api.h>

#include <chrono>
#include <deque>
#include <string>
#include <thread>

#include "bounded.hpp"

namespace sy::nccl {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::seconds patience = 10s;

void expect_gpu() {
  int devices = 0, driver = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  if (code == cudaSuccess && devices > 0) return;
  cudaGetLastError();
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
    throw fault(SY_E_UNAVAILABLE, "nccl: no NVIDIA driver is installed");
  throw fault(SY_E_UNAVAILABLE, "nccl: no GPU can be used: " + std::string(cudaGetErrorString(code)));
}

void expect_current(int device) {
  int now = -1;
  if (cudaGetDevice(&now) == cudaSuccess && now == device) return;
  cudaGetLastError();
  throw fault(SY_E_STATE, "nccl: cuda:" + std::to_string(device) +
                              " must be current on the calling thread; found cuda:" + std::to_string(now));
}

ncclDataType_t type_of(sy_dtype t) {
  if (same(t, f64)) return ncclFloat64;
  if (same(t, f32)) return ncclFloat32;
  if (same(t, f16)) return ncclFloat16;
  if (same(t, bf16)) return ncclBfloat16;
  if (same(t, i64)) return ncclInt64;
  if (same(t, i32)) return ncclInt32;
  return ncclUint8;
}

/// Where NCCL puts what it makes. Its own thread may write there as long as ranks are joining, hence for ever.
ncclComm_t& new_cell() {
  static std::mutex mutex;
  static auto* cells = new std::deque<ncclComm_t>;
  const std::lock_guard lock(mutex);
  return cells->emplace_back(nullptr);
}

cudaStream_t native(void* stream) { return static_cast<cudaStream_t>(stream); }

/// Yields at first, for operations that are ready within microseconds.
class Pause {
 public:
  void operator()() {
    if (++times_ < 100)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(times_ < 1000 ? 20us : 1000us);
  }

 private:
  int times_ = 0;
};

/// Flushes what this rank sent, then waits for the ranks of this host. False: the group failed meanwhile.
bool finish(const Library& n, ncclComm_t comm) {
  ncclResult_t state = n.finalize(comm);
  for (Pause pause; state == ncclInProgress; pause())
    if (n.async_error(comm, &state) != ncclSuccess) return false;
  return state == ncclSuccess && n.destroy(comm) == ncclSuccess;
}

}  // namespace

std::vector<char> Communicator::make_id(const sy_config*) {
  const Library& n = library();
  expect_gpu();
  ncclUniqueId made{};
  const ncclResult_t code = n.unique_id(&made);
  if (code != ncclSuccess)
    throw fault(SY_E_COMM, std::string("nccl: making an id: ") + n.error_text(code) + ": " + n.last_error(nullptr));
  return {std::begin(made.internal), std::end(made.internal)};
}

Communicator::Communicator(const sy_config*, const joining& at, const std::atomic<bool>& aborted)
    : device_(at.device.index), aborted_(aborted) {
  const Library& n = library();
  expect_gpu();
  expect_current(device_);
  ncclUniqueId group{};
  if (at.id.size() != sizeof(group.internal))
    throw fault(SY_E_ARGUMENT, "nccl: expected an id of " + std::to_string(sizeof(group.internal)) + " bytes, found " +
                                   std::to_string(at.id.size()));
  std::copy(at.id.begin(), at.id.end(), group.internal);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t& cell = new_cell();
  const ncclResult_t code = n.init(&cell, at.ranks, group, at.rank, &config);
  comm_ = cell;
  if (code == ncclSuccess || code == ncclInProgress) return;
  const std::string why = std::string("nccl: joining: ") + n.error_text(code) + ": " + n.last_error(nullptr);
  if (comm_) n.abort(comm_);
  throw fault(SY_E_COMM, why);
}

Communicator::~Communicator() {
  if (!comm_) return;
  const Library& n = library();
  const bool drop = failed_ || !joined_;
  const bool ended = runs_within(patience, device_, [&n, comm = comm_, drop] {
    if (drop)
      n.abort(comm);
    else
      finish(n, comm);
  });
  if (!ended)
    host()->log(host()->self, nullptr, 3, "nccl",
                "a rank of this host did not close its communicator; it is left open");
}

void Communicator::fail(const char* what, ncclResult_t code) const {
  std::string text = std::string("nccl: ") + what + ": " + library().error_text(code);
  const char* more = library().last_error(comm_);
  if (more && *more) text += std::string(": ") + more;
  throw fault(SY_E_COMM, text);
}

ncclResult_t Communicator::progress(const char* what) {
  const std::lock_guard lock(mutex_);
  if (aborted_ || !comm_) throw fault(SY_E_ABORTED, "nccl: the communicator was aborted");
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = library().async_error(comm_, &state);
  if (asked != ncclSuccess) state = asked;
  if (state == ncclInProgress) return state;
  if (state != ncclSuccess) {
    failed_ = true;
    fail(what, state);
  }
  joined_ = true;
  return state;
}

sy_rc Communicator::status() {
  const bool in_progress = progress("the group") == ncclInProgress;
  const std::lock_guard lock(mutex_);
  return in_progress && !joined_ ? SY_E_AGAIN : SY_OK;
}

void Communicator::abort() {
  ncclComm_t dropped = nullptr;
  {
    const std::lock_guard lock(mutex_);
    std::swap(dropped, comm_);
  }
  if (!dropped) return;
  const Library& n = library();
  if (!runs_within(patience, device_, [&n, dropped] { n.abort(dropped); }))
    throw fault(SY_E_TIMEOUT, "nccl: the abort has not ended after " + std::to_string(patience.count()) + " seconds");
}

void Communicator::enqueue(const char* what, const Operation& operation) {
  if (progress(what) == ncclInProgress)
    throw fault(SY_E_STATE,
                std::string("nccl: ") + what + ": not every rank has joined yet; ask status until all have");
  {
    const std::lock_guard lock(mutex_);
    if (aborted_ || !comm_) throw fault(SY_E_ABORTED, "nccl: the communicator was aborted");
    const ncclResult_t code = operation(comm_);
    if (code != ncclSuccess && code != ncclInProgress) fail(what, code);
  }
  for (Pause pause; progress(what) == ncclInProgress;) pause();
}

void Communicator::exchange(std::span<const transfer> transfers, void* stream) {
  enqueue("send and receive", [&](ncclComm_t comm) {
    const Library& n = library();
    ncclResult_t first = n.group_start();
    for (const transfer& t : transfers) {
      const auto count = static_cast<std::size_t>(t.count);
      const ncclResult_t code = t.from_here ? n.send(t.data, count, type_of(t.dtype), t.peer, comm, native(stream))
                                            : n.recv(t.data, count, type_of(t.dtype), t.peer, comm, native(stream));
      if (first == ncclSuccess && code != ncclInProgress) first = code;
    }
    const ncclResult_t end = n.group_end();
    return first == ncclSuccess ? end : first;
  });
}

void Communicator::all_reduce(void* to, const void* from, int64_t count, sy_dtype dtype, void* stream) {
  enqueue("all-reduce", [&](ncclComm_t comm) {
    return library().all_reduce(from, to, static_cast<std::size_t>(count), type_of(dtype), ncclSum, comm,
                                native(stream));
  });
}

void Communicator::reduce_scatter(void* to, const void* from, int64_t count, sy_dtype dtype, void* stream) {
  enqueue("reduce-scatter", [&](ncclComm_t comm) {
    return library().reduce_scatter(from, to, static_cast<std::size_t>(count), type_of(dtype), ncclSum, comm,
                                    native(stream));
  });
}

void Communicator::all_gather(void* to, const void* from, int64_t count, sy_dtype dtype, void* stream) {
  enqueue("all-gather", [&](ncclComm_t comm) {
    return library().all_gather(from, to, static_cast<std::size_t>(count), type_of(dtype), comm, native(stream));
  });
}

void Communicator::broadcast(void* both, int64_t count, sy_dtype dtype, int32_t root, void* stream) {
  enqueue("broadcast", [&](ncclComm_t comm) {
    return library().broadcast(both, both, static_cast<std::size_t>(count), type_of(dtype), root, comm, native(stream));
  });
}

}  // namespace sy::nccl
