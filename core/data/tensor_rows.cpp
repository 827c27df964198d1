#include "data/tensor_rows.hpp"

#include <utility>
#include <vector>

#include "base/error.hpp"
#include "store/safetensors.hpp"

namespace switchyard {
namespace {

[[noreturn]] void fail(const SafetensorsFile& file, const std::string& text) {
  throw Error(SY_E_DATA, Place{file.path(), 0, 0}, text);
}

const TensorInfo& rows_tensor(const SafetensorsFile& file, const std::string& name) {
  const TensorInfo* tensor = file.find(name);
  if (!tensor) fail(file, "there is no tensor '" + name + "'; data.tensors needs 'inputs' and 'targets'");
  if (tensor->shape.empty()) fail(file, "'" + name + "' is a scalar; dimension 0 must count samples");
  if (!is_float(tensor->dtype) && !is_integer(tensor->dtype))
    fail(file, "'" + name + "' is " + dtype_name(tensor->dtype) + ", numbers or ids are wanted");
  return *tensor;
}

std::vector<std::int64_t> sample_shape(const TensorInfo& tensor) {
  return {tensor.shape.begin() + 1, tensor.shape.end()};
}

InputSpec input_spec(const SafetensorsFile& file, const TensorInfo& tensor, std::optional<bool> ids) {
  if (ids.value_or(false) && !is_integer(tensor.dtype))
    fail(file, "'inputs' is " + dtype_name(tensor.dtype) + ", but the model reads ids");
  const bool as_ids = ids.value_or(is_integer(tensor.dtype));
  return {sample_shape(tensor), as_ids ? id_dtype : dtype::f32, 0};
}

TargetSpec target_spec(const SafetensorsFile& file, const TensorInfo& tensor, std::optional<TargetKind> kind) {
  const bool values = kind ? *kind == TargetKind::values : is_float(tensor.dtype);
  if (values) return {TargetKind::values, sample_shape(tensor), dtype::f32, 0, {}};
  if (is_float(tensor.dtype))
    fail(file, "'targets' is " + dtype_name(tensor.dtype) + ", but the loss wants class or token ids");
  const TargetKind natural = tensor.shape.size() == 1 ? TargetKind::classes : TargetKind::tokens;
  return {natural, sample_shape(tensor), id_dtype, 0, {}};
}

}  // namespace

std::shared_ptr<const Rows> read_tensor_rows(const std::string& path, std::optional<bool> ids,
                                             std::optional<TargetKind> kind) {
  const auto file = std::make_shared<const SafetensorsFile>(SafetensorsFile::open(path));
  const TensorInfo& inputs = rows_tensor(*file, "inputs");
  const TensorInfo& targets = rows_tensor(*file, "targets");
  if (inputs.shape[0] != targets.shape[0])
    fail(*file, "'inputs' has " + std::to_string(inputs.shape[0]) + " samples, 'targets' has " +
                    std::to_string(targets.shape[0]));
  auto rows = std::make_shared<Rows>();
  rows->inputs = input_spec(*file, inputs, ids);
  rows->targets = target_spec(*file, targets, kind);
  rows->count = inputs.shape[0];
  rows->stored_inputs = inputs.dtype;
  rows->stored_targets = targets.dtype;
  rows->input_bytes = file->bytes(inputs);
  rows->target_bytes = file->bytes(targets);
  rows->owner = file;
  return rows;
}

}  // namespace switchyard
