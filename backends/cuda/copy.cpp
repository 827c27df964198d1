#include "copy.hpp"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "current.hpp"
#include "failure.hpp"
#include "layout.hpp"
#include "views.hpp"

namespace sy::cuda {
namespace {

/// Frees device memory on its stream, with its device current.
class Scratch {
 public:
  Scratch(sy_backend& backend, int device, std::size_t bytes, cudaStream_t stream) : device_(device), stream_(stream) {
    const Current current(device);
    memory_ = backend.allocate(device, bytes, stream);
  }
  ~Scratch() {
    const Current current(device_);
    cudaFreeAsync(memory_, stream_);
  }
  Scratch(const Scratch&) = delete;
  void* get() const { return memory_; }

 private:
  int device_;
  cudaStream_t stream_;
  void* memory_ = nullptr;
};

/// A contiguous view of other memory, with the shape of another one.
struct Packed {
  Packed(const sy_view& like, void* memory) : strides(static_cast<std::size_t>(like.ndim)), view(like) {
    int64_t stride = 1;
    for (int32_t d = like.ndim; d-- > 0; stride *= like.shape[d]) strides[static_cast<std::size_t>(d)] = stride;
    view.data = memory;
    view.byte_offset = 0;
    view.strides = strides.data();
  }
  std::vector<int64_t> strides;
  sy_view view;
};

bool contiguous(const sy_view& v) {
  int64_t stride = 1;
  for (int32_t d = v.ndim; d-- > 0; stride *= v.shape[d])
    if (v.shape[d] != 1 && v.strides[d] != stride) return false;
  return true;
}

/// From one GPU to another that it cannot reach: by way of pinned memory, and waiting for both.
void through_host(sy_backend& backend, void* to, const void* from, int from_device, std::size_t size,
                  const sy_stream& stream) {
  const std::unique_ptr<void, void (*)(void*)> between(backend.allocate_host(size), [](void* p) { cudaFreeHost(p); });
  must(cudaStreamSynchronize(stream.native), "waiting before a copy");
  {
    const Current current(from_device);
    must(cudaMemcpy(between.get(), from, size, cudaMemcpyDeviceToHost), "copying from the device");
  }
  must(cudaMemcpyAsync(to, between.get(), size, cudaMemcpyHostToDevice, stream.native), "copying to the device");
  must(cudaStreamSynchronize(stream.native), "waiting for a copy");
}

void copy_run(sy_backend& backend, const sy_view& to, const sy_view& from, std::size_t size, const sy_stream& stream) {
  void* const target = data(to);
  const void* const source = data(from);
  if (on_host(to) || on_host(from)) {
    const cudaMemcpyKind kind = !on_host(to)     ? cudaMemcpyHostToDevice
                                : !on_host(from) ? cudaMemcpyDeviceToHost
                                                 : cudaMemcpyHostToHost;
    return must(cudaMemcpyAsync(target, source, size, kind, stream.native), "copying");
  }
  const int a = backend.ordinal(from.device), b = backend.ordinal(to.device);
  if (a == b) return must(cudaMemcpyAsync(target, source, size, cudaMemcpyDeviceToDevice, stream.native), "copying");
  if (backend.way(a, b) == sy_backend::Way::through_host) return through_host(backend, target, source, a, size, stream);
  must(cudaMemcpyPeerAsync(target, b, source, a, size, stream.native), "copying between devices");
}

void copy_strided(const sy_view& to, const sy_view& from, const Strided& layout, cudaStream_t stream) {
  launch_strided(data(to), data(from), static_cast<int>(element_bytes(to)), layout, count(to), stream);
  must(cudaGetLastError(), "starting a strided copy");
}

/// Both views on the host, or both on one device.
bool one_place(const sy_view& a, const sy_view& b) {
  return on_host(a) ? on_host(b) : !on_host(b) && a.device.index == b.device.index;
}

/// Within one place, any strides.
void copy_here(sy_backend& backend, const sy_view& to, const sy_view& from, const sy_stream& stream) {
  const Strided layout = simplified(to, from);
  if (is_one_run(layout)) return copy_run(backend, to, from, bytes(to), stream);
  if (on_host(to)) {
    must(cudaStreamSynchronize(stream.native), "waiting before a copy");
    return copy_on_host(data(to), data(from), element_bytes(to), layout);
  }
  const int device = backend.ordinal(to.device);
  if (device == stream.device) return copy_strided(to, from, layout, stream.native);
  must(cudaStreamSynchronize(stream.native), "waiting before a copy");
  const Current current(device);
  copy_strided(to, from, layout, cudaStreamPerThread);
  must(cudaStreamSynchronize(cudaStreamPerThread), "waiting for a copy");
}

/// body(contiguous view of a block where `like` lies); the block is gone afterwards.
template <class Body>
void with_block(sy_backend& backend, const sy_view& like, const sy_stream& stream, Body&& body) {
  if (on_host(like)) {
    std::vector<char> block(bytes(like));
    body(Packed(like, block.data()).view);
    return must(cudaStreamSynchronize(stream.native), "waiting for a copy");
  }
  const int device = backend.ordinal(like.device);
  const bool native = device == stream.device;
  const Scratch block(backend, device, bytes(like), native ? stream.native : cudaStreamPerThread);
  if (!native) {
    const Current current(device);
    must(cudaStreamSynchronize(cudaStreamPerThread), "waiting for memory");
  }
  body(Packed(like, block.get()).view);
  if (!native) must(cudaStreamSynchronize(stream.native), "waiting for a copy");
}

/// Between two places: what is strided is packed on its own side.
void copy_across(sy_backend& backend, const sy_view& to, const sy_view& from, const sy_stream& stream) {
  if (contiguous(to) && contiguous(from)) return copy_run(backend, to, from, bytes(to), stream);
  if (!contiguous(from))
    return with_block(backend, from, stream, [&](const sy_view& block) {
      copy_here(backend, block, from, stream);
      copy_across(backend, to, block, stream);
    });
  with_block(backend, to, stream, [&](const sy_view& block) {
    copy_run(backend, block, from, bytes(to), stream);
    copy_here(backend, to, block, stream);
  });
}

}  // namespace

void copy(sy_backend& backend, const sy_view& to, const sy_view& from, const sy_stream& stream) {
  expect_same_shape(to, from);
  if (!same(to.dtype, from.dtype)) throw fault(SY_E_ARGUMENT, "a copy does not change the type; use cast");
  if (!on_host(to)) backend.ordinal(to.device);
  if (!on_host(from)) backend.ordinal(from.device);
  if (count(to) == 0) return;
  const std::size_t size = element_bytes(to);
  if (size != 1 && size != 2 && size != 4 && size != 8 && size != 16)
    throw fault(SY_E_ARGUMENT, "expected elements of 1, 2, 4, 8 or 16 bytes, found " +
                                   std::to_string(to.dtype.bits * to.dtype.lanes) + " bits");
  const Current current(stream.device);
  if (one_place(to, from))
    copy_here(backend, to, from, stream);
  else
    copy_across(backend, to, from, stream);
}

}  // namespace sy::cuda
