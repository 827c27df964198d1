// The tensors of one or several safetensors files under one roof.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/safetensors.hpp"

namespace switchyard {

/// Where a tensor lies. Lent by TensorFiles.
struct TensorPlace {
  const SafetensorsFile* file = nullptr;
  const TensorInfo* tensor = nullptr;
};

/// One `*.safetensors`, or the shards of an index `*.safetensors.index.json`. Reading from several threads is fine.
class TensorFiles {
 public:
  /// `path`: a safetensors file, an index, or a folder with model.safetensors or model.safetensors.index.json.
  /// An index is compared with the headers of its shards: a tensor that is not in its shard, is in two shards, or is in
  /// a shard and not in the index, and a shard that is missing or leads out of the index's folder, are listed by name
  /// and shard (SY_E_DATA, at most 20 lines).
  static TensorFiles open(const std::string& path);

  const std::string& path() const { return path_; }
  /// Sorted by name.
  const std::map<std::string, TensorPlace, std::less<>>& tensors() const { return tensors_; }
  const TensorPlace* find(std::string_view name) const;

 private:
  std::string path_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, TensorPlace, std::less<>> tensors_;
};

}  // namespace switchyard
