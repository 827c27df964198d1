// Counted tensors of the application's, from and to DLPack.
#include "base/tensor.hpp"

#include "api/call.hpp"
#include "api/dlpack.hpp"
#include "switchyard/switchyard.h"

using namespace switchyard;
using namespace switchyard::api;

namespace {

using Managed = DLManagedTensorVersioned;

void release(void* owner) {
  auto* managed = static_cast<Managed*>(owner);
  if (managed->deleter) managed->deleter(managed);
}

/// Whatever went wrong, the producer's tensor was taken.
struct Taken {
  Managed* managed;
  ~Taken() {
    if (managed) release(managed);
  }
};

void check(const Managed& managed, const void* stream) {
  if (managed.version.major != dlpack::major)
    throw Error(SY_E_ARGUMENT, "the tensor is of DLPack " + std::to_string(managed.version.major) + "." +
                                   std::to_string(managed.version.minor) + "; this library takes 1.x");
  if (managed.dl_tensor.device.type != SY_DEVICE_CPU)
    throw Error(SY_E_UNIMPLEMENTED, "the tensor lies on a device of type " +
                                        std::to_string(managed.dl_tensor.device.type) +
                                        "; only the CPU's are taken yet");
  if (stream) throw Error(SY_E_ARGUMENT, "a stream beside a tensor of the CPU");
  if (managed.dl_tensor.ndim > 0 && !managed.dl_tensor.shape) throw Error(SY_E_ARGUMENT, "the tensor's shape is NULL");
}

}  // namespace

sy_rc sy_tensor_from_dlpack(Managed* take, void* stream, sy_tensor** give, sy_error** err) {
  return guard(err, [&] {
    Taken taken{need(take, "tensor")};
    need(give, "give");
    check(*take, stream);
    taken.managed = nullptr;  // wrap_tensor takes it, also when it throws
    *give = wrap_tensor(take->dl_tensor, take, release);
  });
}

sy_rc sy_tensor_to_dlpack(sy_tensor* tensor, Managed** give, sy_error** err) {
  return guard(err, [&] {
    need(tensor, "tensor");
    need(give, "give");
    auto managed = std::make_unique<Managed>();
    managed->version = {dlpack::major, dlpack::minor};
    managed->dl_tensor = tensor->view;
    managed->manager_ctx = tensor;
    managed->deleter = [](Managed* self) {
      drop_tensor(static_cast<sy_tensor*>(self->manager_ctx));
      delete self;
    };
    keep_tensor(tensor);
    *give = managed.release();
  });
}

const sy_view* sy_tensor_view(const sy_tensor* tensor) { return tensor ? &tensor->view : nullptr; }

void sy_tensor_keep(sy_tensor* tensor) {
  if (tensor) keep_tensor(tensor);
}

void sy_tensor_drop(sy_tensor* take) { drop_tensor(take); }
