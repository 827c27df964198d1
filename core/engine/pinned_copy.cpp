#include "engine/pinned_copy.hpp"

#include <cstring>

#include "engine/device.hpp"
#include "plugin/host.hpp"

namespace switchyard {

PinnedRoom::~PinnedRoom() { free(); }

void PinnedRoom::free() {
  if (memory_) backend_->api().host_free(backend_->get(), memory_);
  memory_ = nullptr;
  room_ = 0;
}

std::byte* PinnedRoom::take(std::size_t bytes, const std::shared_ptr<OpenedBackend>& backend) {
  if (bytes > room_) {
    free();
    backend_ = backend;
    call_plugin([&](sy_error** e) { return backend->api().host_alloc(backend->get(), bytes, &memory_, e); });
    room_ = bytes;
  }
  return data();
}

const std::byte* PinnedCopy::take(std::span<const std::byte> bytes, const std::shared_ptr<OpenedBackend>& backend) {
  std::byte* const memory = room_.take(bytes.size(), backend);
  std::memcpy(memory, bytes.data(), bytes.size());
  return memory;
}

}  // namespace switchyard
