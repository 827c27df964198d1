// A batch in host memory that copies run from without making their thread wait.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace switchyard {

class OpenedBackend;

/// Memory only grows. [ctl]
class PinnedCopy {
 public:
  PinnedCopy() = default;
  ~PinnedCopy();
  PinnedCopy(const PinnedCopy&) = delete;
  PinnedCopy& operator=(const PinnedCopy&) = delete;

  /// The bytes in memory of this backend's; lent until the next call. Nobody may still be copying from the last one.
  const std::byte* take(std::span<const std::byte> bytes, const std::shared_ptr<OpenedBackend>& backend);

 private:
  void free();
  std::shared_ptr<OpenedBackend> backend_;
  void* memory_ = nullptr;
  std::size_t room_ = 0;
};

}  // namespace switchyard
