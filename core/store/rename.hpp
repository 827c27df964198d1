// `[model] weights`: which tensor of a file goes into which of ours.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "store/tensor_files.hpp"

namespace switchyard {

/// What the stars of `pattern` matched in `name`, in order; nothing if the whole name does not match. `*` matches any
/// characters, also none and also dots, as few as possible from the left; everything else stands for itself.
std::optional<std::vector<std::string>> match_stars(std::string_view pattern, std::string_view name);
/// `pattern` with its stars replaced in order. There are as many stars as texts.
std::string fill_stars(std::string_view pattern, const std::vector<std::string>& texts);

/// The options of `[model] weights` besides `file`.
struct WeightMap {
  std::vector<std::pair<std::string, std::string>> rename;  // the file's names -> ours, with equal numbers of `*`
  bool allow_unused = false;
  std::vector<std::string> unused;  // patterns (config/pattern.hpp) of the file's names that may be left over
};

/// A parameter or buffer of the model.
struct WantedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  sy_dtype dtype{};       // every float type fits every other one (see convert()); other types must be equal
  bool optional = false;  // may be missing; a name that ends in num_batches_tracked always may
};

/// Our names -> the file's tensors, lent by `files`. An exact entry of `rename` beats
/// a pattern. All mistakes are
/// listed (SY_E_CONFIG, starting with `place`): patterns that match nothing, have another number of stars, or disagree
/// about a name; two tensors that become one; left-over, missing, wrongly shaped and wrongly typed tensors.
std::map<std::string, TensorPlace> assign_weights(const TensorFiles& files, const std::vector<WantedTensor>& wanted,
                                                  const WeightMap& map, const Place& place = {});

}  // namespace switchyard
