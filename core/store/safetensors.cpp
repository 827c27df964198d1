#include "store/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "store/atomic_file.hpp"

namespace switchyard {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie in memory");

constexpr std::uint64_t piece_bytes = 8u << 20;  // a multiple of every element

/// The reference library's order of types, which decides a file's bytes: larger elements come first.
constexpr sy_dtype type_order[] = {dtype::i64, dtype::f64, dtype::f32, dtype::i32, dtype::bf16,
                                   dtype::f16, dtype::i16, dtype::i8,  dtype::u8,  dtype::boolean};

int rank_of(sy_dtype type) {
  return static_cast<int>(std::find(std::begin(type_order), std::end(type_order), type) - std::begin(type_order));
}

void check(const TensorSource& tensor) {
  if (tensor.name == "__metadata__") throw Error(SY_E_ARGUMENT, "a tensor cannot be called __metadata__");
  if (!is_known(tensor.dtype))
    throw Error(SY_E_ARGUMENT, "tensor '" + tensor.name + "': a file cannot hold " + dtype_name(tensor.dtype));
  if (!byte_count(tensor.shape, tensor.dtype))
    throw Error(SY_E_ARGUMENT, "tensor '" + tensor.name + "': bad shape " + shape_text(tensor.shape));
}

void sort_and_check(std::vector<TensorSource>& tensors) {
  for (const TensorSource& tensor : tensors) check(tensor);
  std::sort(tensors.begin(), tensors.end(), [](const TensorSource& a, const TensorSource& b) {
    return std::pair(rank_of(a.dtype), std::string_view(a.name)) <
           std::pair(rank_of(b.dtype), std::string_view(b.name));
  });
  std::vector<std::string_view> names;
  for (const TensorSource& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) throw Error(SY_E_ARGUMENT, "tensor '" + std::string(*twice) + "' is given twice");
}

std::vector<TensorInfo> lay_out(const std::vector<TensorSource>& tensors) {
  std::vector<TensorInfo> infos;
  std::uint64_t end = 0;
  for (const TensorSource& tensor : tensors) {
    const auto bytes = static_cast<std::uint64_t>(*byte_count(tensor.shape, tensor.dtype));
    infos.push_back({tensor.name, tensor.dtype, tensor.shape, end, bytes});
    end += bytes;
  }
  return infos;
}

void write_tensor(AtomicFile& file, const TensorSource& tensor, std::uint64_t bytes, std::vector<std::byte>& buffer) {
  for (std::uint64_t offset = 0; offset < bytes; offset += piece_bytes) {
    const auto size = static_cast<std::size_t>(std::min(piece_bytes, bytes - offset));
    if (buffer.size() < size) buffer.resize(size);
    const std::span<std::byte> piece(buffer.data(), size);
    tensor.fill(offset, piece);
    file.write(piece);
  }
}

}  // namespace

SafetensorsFile SafetensorsFile::open(const std::string& path) {
  SafetensorsFile result;
  result.map_ = MappedFile::open(path);
  result.header_ = parse_safetensors_header(result.map_.bytes(), path);
  const auto& tensors = result.header_.tensors;
  result.by_name_.resize(tensors.size());
  std::iota(result.by_name_.begin(), result.by_name_.end(), std::size_t{0});
  std::sort(result.by_name_.begin(), result.by_name_.end(),
            [&](std::size_t a, std::size_t b) { return tensors[a].name < tensors[b].name; });
  return result;
}

const TensorInfo* SafetensorsFile::find(std::string_view name) const {
  const auto at =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [&](std::size_t index, std::string_view key) { return header_.tensors[index].name < key; });
  if (at == by_name_.end() || header_.tensors[*at].name != name) return nullptr;
  return &header_.tensors[*at];
}

const TensorInfo& SafetensorsFile::at(std::string_view name) const {
  if (const TensorInfo* info = find(name)) return *info;
  throw Error(SY_E_NOT_FOUND, Place{path(), 0, 0}, "there is no tensor '" + std::string(name) + "'");
}

std::span<const std::byte> SafetensorsFile::bytes(const TensorInfo& tensor) const {
  return map_.bytes().subspan(header_.data_begin + tensor.begin, tensor.bytes);
}

FillTensor fill_from(std::span<const std::byte> bytes) {
  return [bytes](std::uint64_t offset, std::span<std::byte> to) {
    if (offset > bytes.size() || to.size() > bytes.size() - offset)
      throw Error(SY_E_INTERNAL, "a tensor's source is shorter than its shape");
    std::memcpy(to.data(), bytes.data() + offset, to.size());
  };
}

void write_safetensors(const std::string& path, std::vector<TensorSource> tensors,
                       const std::map<std::string, std::string>& metadata) {
  sort_and_check(tensors);
  const std::vector<TensorInfo> infos = lay_out(tensors);
  AtomicFile file(path);
  file.write(make_safetensors_header(infos, metadata));
  std::vector<std::byte> buffer;
  for (std::size_t i = 0; i < tensors.size(); ++i) write_tensor(file, tensors[i], infos[i].bytes, buffer);
  file.commit();
}

}  // namespace switchyard
