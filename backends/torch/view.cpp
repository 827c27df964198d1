#include <ATen/ops/from_blob.h>

#include "cuda_half.hpp"
#include "switchyard/cpp/torch.hpp"

namespace sy {
namespace {

at::Device device_of(sy_device d) {
  if (d.type == SY_DEVICE_CPU) return at::kCPU;
  if (d.type == SY_DEVICE_CUDA) {
    need_cuda_half();  // parameters are bound before the first call
    return {at::kCUDA, static_cast<c10::DeviceIndex>(d.index)};
  }
  throw fault(SY_E_ARGUMENT, "LibTorch layers know no device of type " + std::to_string(d.type));
}

at::Tensor wrap(const sy_view& v, void* context, void (*drop)(void*)) {
  const auto n = static_cast<std::size_t>(v.ndim);
  const at::Device device = device_of(v.device);
  return at::for_blob(data(v), {v.shape, n})
      .strides(at::IntArrayRef{v.strides, n})
      .context(context, drop)
      .target_device(device)
      .options(at::TensorOptions().dtype(to_torch(v.dtype)).device(device))
      .make_tensor();
}

void drop_handle(void* handle) { host()->tensor_drop(static_cast<sy_tensor*>(handle)); }
void drop_owner(void* owner) { delete static_cast<at::Tensor*>(owner); }

bool is_whole(const at::Tensor& t) {
  return t.is_contiguous() && t.storage_offset() == 0 && t.storage().nbytes() == t.nbytes();
}

}  // namespace

at::Tensor borrow(sy_tensor* t) {
  if (!t) return {};
  host()->tensor_keep(t);
  return wrap(*host()->tensor_view(t), t, drop_handle);
}

at::Tensor view_tensor(const sy_view& view) {
  return wrap(view, nullptr, [](void*) {});
}

sy_tensor* lend(at::Tensor t, const sy_call& call) {
  if (!is_whole(t)) t = t.clone(at::MemoryFormat::Contiguous);
  auto owner = std::make_unique<at::Tensor>(std::move(t));
  const at::Tensor& own = *owner;
  int64_t shape[SY_MAX_DIMS], strides[SY_MAX_DIMS];
  if (own.dim() > SY_MAX_DIMS) throw fault(SY_E_ARGUMENT, "an output has more than 8 dimensions");
  for (int64_t d = 0; d < own.dim(); ++d) shape[d] = own.size(d), strides[d] = own.stride(d);
  const sy_view view{
      own.data_ptr(), call.device, static_cast<int32_t>(own.dim()), from_torch(own.scalar_type()), shape, strides, 0};
  sy_tensor* made = nullptr;
  check(host()->tensor_wrap(host()->self, &view, owner.release(), drop_owner, &made, nullptr),
        "no tensor could be made");
  return made;
}

}  // namespace sy
