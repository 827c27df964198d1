#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/AutogradState.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <mutex>
#include <optional>

#include "allocator.hpp"
#include "cuda_half.hpp"
#include "switchyard/cpp/torch.hpp"

namespace sy {
namespace {

c10::AutogradState autograd_state(bool gradients) {
  return {/*grad_mode=*/gradients, /*inference_mode=*/false, /*fw_grad_mode=*/false, /*multithreading_enabled=*/false};
}

std::string name_of(uint32_t settings) {
  return std::string("deterministic = ") + (settings & SY_CALL_DETERMINISTIC ? "true" : "false") +
         ", tf32 = " + (settings & SY_CALL_TF32 ? "true" : "false");
}

/// LibTorch keeps these once per process.
void fix_process_settings(uint32_t flags) {
  static std::once_flag once;
  static uint32_t fixed = 0;
  const uint32_t wanted = flags & (SY_CALL_DETERMINISTIC | SY_CALL_TF32);
  std::call_once(once, [&] {
    auto& torch = at::globalContext();
    torch.setDeterministicAlgorithms((wanted & SY_CALL_DETERMINISTIC) != 0, /*warn_only=*/false);
    torch.setDeterministicCuDNN((wanted & SY_CALL_DETERMINISTIC) != 0);
    torch.setDeterministicFillUninitializedMemory(false);
    torch.setBenchmarkCuDNN(false);
    torch.setAllowTF32CuBLAS((wanted & SY_CALL_TF32) != 0);
    torch.setAllowTF32CuDNN((wanted & SY_CALL_TF32) != 0);
    fixed = wanted;
  });
  if (wanted != fixed)
    throw fault(SY_E_STATE, "LibTorch keeps determinism and TF32 once per process: the first runtime set " +
                                name_of(fixed) + ", this one wants " + name_of(wanted));
}

/// LibTorch numbers a stream that it did not make by its handle.
c10::Stream stream_of(const sy_call& call) {
  const c10::Device device(at::kCUDA, static_cast<c10::DeviceIndex>(call.device.index));
  return c10::Stream(c10::Stream::UNSAFE, device,
                     static_cast<c10::StreamId>(reinterpret_cast<intptr_t>(call.native_stream)));
}

}  // namespace

struct call_scope::state {
  state(const sy_call& call, bool gradients)
      : threads_before(at::get_num_threads()),
        threads(call.threads > 0 ? static_cast<int>(call.threads) : threads_before),
        origin_before(exchange_origin(call.origin)),
        autograd_before(c10::AutogradState::get_tls_state()),
        no_autocast(c10::autocast_dispatch_keyset) {
    c10::AutogradState::set_tls_state(autograd_state(gradients));
    if (threads != threads_before) at::set_num_threads(threads);
  }
  ~state() {
    if (threads != threads_before) at::set_num_threads(threads_before);
    c10::AutogradState::set_tls_state(autograd_before);
    exchange_origin(origin_before);
  }

  int threads_before, threads;
  const sy_origin* origin_before;
  c10::AutogradState autograd_before;
  c10::impl::ExcludeDispatchKeyGuard no_autocast;
  std::optional<c10::StreamGuard> on_stream;  // also makes the device the current one
};

call_scope::call_scope(const sy_call& call, bool gradients) {
  if (call.device.type == SY_DEVICE_CUDA) {
    need_cuda_half();
    fix_process_settings(call.flags);
  }
  state_ = std::make_unique<state>(call, gradients);
  if (call.device.type != SY_DEVICE_CUDA) return;
  state_->on_stream.emplace(stream_of(call));
  need_libraries(call.native_stream);
}

call_scope::~call_scope() = default;

}  // namespace sy
