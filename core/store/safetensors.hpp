// Safetensors files: named tensors behind a JSON header. A file is
//
//     8 bytes N, little endian | N bytes of JSON, padded with blanks | the tensors' bytes, without holes
//
// Nothing in a file is trusted: see safetensors_header.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/mapped_file.hpp"
#include "store/safetensors_header.hpp"

namespace switchyard {

/// Reads a file through a memory map; nothing is copied. Movable; reading from several threads is fine.
class SafetensorsFile {
 public:
  /// Errors: SY_E_DATA with the file and the tensor for a malformed file; those of MappedFile::open.
  static SafetensorsFile open(const std::string& path);

  const std::string& path() const { return map_.path(); }
  /// In the order of their bytes in the file.
  const std::vector<TensorInfo>& tensors() const { return header_.tensors; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  /// nullptr: no tensor of that name. Lent as long as this object is not moved or destroyed.
  const TensorInfo* find(std::string_view name) const;
  /// find() that fails: SY_E_NOT_FOUND with file and name.
  const TensorInfo& at(std::string_view name) const;
  /// The tensor's bytes, little endian, row-major, at any alignment. `tensor` is one of tensors(). Lent like find().
  std::span<const std::byte> bytes(const TensorInfo& tensor) const;
  /// The tensor's bytes were copied and need not stay in memory (they may be read again).
  void release(const TensorInfo& tensor) const { map_.release(bytes(tensor)); }

 private:
  MappedFile map_;
  SafetensorsHeader header_;
  std::vector<std::size_t> by_name_;  // indices into tensors, sorted by name
};

/// Copies bytes [offset, offset + to.size()) of one tensor (little endian, row-major) into `to`. Called by the writer's
/// thread with ascending offsets that are multiples of the element; a throw ends the writing.
using FillTensor = std::function<void(std::uint64_t offset, std::span<std::byte> to)>;

/// One tensor to write.
struct TensorSource {
  std::string name;
  sy_dtype dtype{};
  std::vector<std::int64_t> shape;
  FillTensor fill;
};

/// A source over bytes that stay valid until the file is written.
FillTensor fill_from(std::span<const std::byte> bytes);

/// Writes a file that appears whole or not at all and is on the disk when this returns. Holds one piece (8 MiB) in
/// memory. Equal content gives equal bytes in whatever order the tensors come: larger elements first, then by name, as
/// the reference library does; the header is padded so that the tensors start at a multiple of 8. Errors: SY_E_ARGUMENT
/// (doubled name, the name __metadata__, a type or shape that no file holds), those of AtomicFile, and whatever fill
/// throws.
void write_safetensors(const std::string& path, std::vector<TensorSource> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace switchyard
