#include "engine/pinned_copy.hpp"

#include <cstring>

#include "engine/device.hpp"
#include "plugin/host.hpp"

namespace switchyard {

PinnedCopy::~PinnedCopy() { free(); }

void PinnedCopy::free() {
  if (memory_) backend_->api().host_free(backend_->get(), memory_);
  memory_ = nullptr;
  room_ = 0;
}

const std::byte* PinnedCopy::take(std::span<const std::byte> bytes, const std::shared_ptr<OpenedBackend>& backend) {
  if (bytes.size() > room_) {
    free();
    backend_ = backend;
    call_plugin([&](sy_error** e) { return backend->api().host_alloc(backend->get(), bytes.size(), &memory_, e); });
    room_ = bytes.size();
  }
  std::memcpy(memory_, bytes.data(), bytes.size());
  return static_cast<const std::byte*>(memory_);
}

}  // namespace switchyard
