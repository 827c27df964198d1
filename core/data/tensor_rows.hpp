// Samples from a safetensors file with the tensors `inputs` and `targets`.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "data/rows.hpp"

namespace switchyard {

/// Dimension 0 of both tensors counts samples. Integer inputs are ids unless `ids` is false, float inputs are numbers
/// (fp32) and cannot be ids. Integer targets of shape [N] are class ids, of more dimensions tokens, float targets are
/// values; `kind` may ask for values from integers.
/// Errors: SY_E_DATA with the file (a tensor is missing, a scalar, of bools; the counts differ; what is asked for
/// cannot be made), those of SafetensorsFile::open. Ids are checked batch by batch (check_ids).
std::shared_ptr<const Rows> read_tensor_rows(const std::string& path, std::optional<bool> ids,
                                             std::optional<TargetKind> kind);

}  // namespace switchyard
