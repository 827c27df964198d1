// A file's bytes, mapped into memory read-only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace switchyard {

/// Movable owner of one mapping. Reading from several threads is fine. An empty file has an empty span.
/// The file must not be cut short while it is mapped (the system then sends SIGBUS).
class MappedFile {
 public:
  MappedFile() = default;
  /// Errors: SY_E_NOT_FOUND, SY_E_DENIED, SY_E_UNAVAILABLE; a folder is SY_E_ARGUMENT.
  static MappedFile open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Tells the system that these bytes are not needed for now, so that a large file does not stay in memory; they may
  /// be read again. `part` is a part of bytes().
  void release(std::span<const std::byte> part) const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace switchyard
