// Host memory that copies run from and to without making their thread wait.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace switchyard {

class OpenedBackend;

/// Memory of a backend's; only grows. [ctl]
class PinnedRoom {
 public:
  PinnedRoom() = default;
  ~PinnedRoom();
  PinnedRoom(const PinnedRoom&) = delete;
  PinnedRoom& operator=(const PinnedRoom&) = delete;

  /// Of at least this size, content undefined; lent until the next call. Nobody may still be copying from or to it.
  std::byte* take(std::size_t bytes, const std::shared_ptr<OpenedBackend>& backend);
  std::byte* data() const { return static_cast<std::byte*>(memory_); }

 private:
  void free();
  std::shared_ptr<OpenedBackend> backend_;
  void* memory_ = nullptr;
  std::size_t room_ = 0;
};

/// A batch. [ctl]
class PinnedCopy {
 public:
  /// The bytes in memory of this backend's; lent until the next call. Nobody may still be copying from the last one.
  const std::byte* take(std::span<const std::byte> bytes, const std::shared_ptr<OpenedBackend>& backend);

 private:
  PinnedRoom room_;
};

}  // namespace switchyard
