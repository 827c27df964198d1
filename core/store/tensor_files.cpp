#include "store/tensor_files.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "store/file_error.hpp"

namespace switchyard {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* index_end = ".index.json";

/// What a folder stands for.
std::string resolve(const std::string& path) {
  if (!fs::is_directory(path)) return path;
  const std::string single = path + "/model.safetensors";
  const std::string index = single + index_end;
  if (fs::exists(single) || !fs::exists(index)) return single;
  return index;
}

/// Tensor name -> shard, from an index; SY_E_DATA with the file.
std::map<std::string, std::string> read_index(const std::string& path) {
  const Place place{path, 0, 0};
  const MappedFile file = MappedFile::open(path);
  const auto* text = reinterpret_cast<const char*>(file.bytes().data());
  std::set<std::string> names;
  std::optional<std::string> twice;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1) names.clear();
    if (event == Json::parse_event_t::key && depth == 2 && !names.insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  const Json index = Json::parse(text, text + file.bytes().size(), watch, /*allow_exceptions=*/false);
  if (index.is_discarded()) throw Error(SY_E_DATA, place, "this is not JSON");
  if (twice) throw Error(SY_E_DATA, place, "tensor '" + *twice + "' stands twice in the index");
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (!index.is_object() || map == index.end() || !map->is_object())
    throw Error(SY_E_DATA, place, "an index holds an object 'weight_map' of tensor names and files");
  std::map<std::string, std::string> result;
  for (const auto& [name, shard] : map->items()) {
    if (!shard.is_string()) throw Error(SY_E_DATA, place, "the file of tensor '" + name + "' is not a text");
    result[name] = shard.get<std::string>();
  }
  return result;
}

bool plain_name(const std::string& shard) {
  return !shard.empty() && shard != "." && shard != ".." && shard.find('/') == shard.npos &&
         shard.find('\0') == shard.npos;
}

/// Opens each shard once; those that cannot be opened are mistakes.
std::map<std::string, SafetensorsFile> open_shards(const std::string& index_path, const std::set<std::string>& shards,
                                                   ErrorList& mistakes) {
  const std::string folder = fs::path(index_path).parent_path().string();
  std::map<std::string, SafetensorsFile> files;
  for (const std::string& shard : shards) {
    if (!plain_name(shard)) {
      mistakes.add({index_path, 0, 0}, "'" + shard + "' leads out of the index's folder");
      continue;
    }
    try {
      files.emplace(shard, SafetensorsFile::open(folder.empty() ? shard : folder + "/" + shard));
    } catch (const Error& error) {
      mistakes.add({index_path, 0, 0}, error.what());
    }
  }
  return files;
}

/// Every tensor of the index is in its shard; every tensor of a shard is in the index, for that shard.
void compare(const std::string& path, const std::map<std::string, std::string>& index,
             const std::map<std::string, SafetensorsFile>& files, ErrorList& mistakes) {
  const Place place{path, 0, 0};
  for (const auto& [name, shard] : index) {
    const auto file = files.find(shard);
    if (file != files.end() && !file->second.find(name))
      mistakes.add(place, "tensor '" + name + "' is not in '" + shard + "', where the index has it");
  }
  for (const auto& [shard, file] : files)
    for (const TensorInfo& tensor : file.tensors()) {
      const auto entry = index.find(tensor.name);
      if (entry == index.end())
        mistakes.add(place, "tensor '" + tensor.name + "' of '" + shard + "' is not in the index");
      else if (entry->second != shard)
        mistakes.add(place,
                     "tensor '" + tensor.name + "' is in '" + shard + "', the index has it in '" + entry->second + "'");
    }
}

std::vector<SafetensorsFile> open_indexed(const std::string& path) {
  const auto index = read_index(path);
  std::set<std::string> shards;
  for (const auto& [name, shard] : index) shards.insert(shard);
  ErrorList mistakes;
  auto files = open_shards(path, shards, mistakes);
  compare(path, index, files, mistakes);
  mistakes.raise(SY_E_DATA);
  std::vector<SafetensorsFile> result;
  for (auto& [shard, file] : files) result.push_back(std::move(file));
  return result;
}

}  // namespace

TensorFiles TensorFiles::open(const std::string& path) {
  TensorFiles result;
  result.path_ = resolve(path);
  if (result.path_.ends_with(index_end))
    result.files_ = open_indexed(result.path_);
  else
    result.files_.push_back(SafetensorsFile::open(result.path_));
  for (const SafetensorsFile& file : result.files_)
    for (const TensorInfo& tensor : file.tensors()) result.tensors_[tensor.name] = {&file, &tensor};
  return result;
}

const TensorPlace* TensorFiles::find(std::string_view name) const {
  const auto at = tensors_.find(name);
  return at == tensors_.end() ? nullptr : &at->second;
}

}  // namespace switchyard
