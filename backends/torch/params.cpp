#include "switchyard/cpp/torch.hpp"

namespace sy {

void bound_params::bind(const std::vector<param>& declared, const sy_binding& binding) {
  if (binding.n_params != declared.size())
    throw fault(SY_E_ARGUMENT, std::to_string(declared.size()) + " parameters were declared, " +
                                   std::to_string(binding.n_params) + " are bound");
  names_.clear();
  values_.clear();
  for (uint32_t i = 0; i < binding.n_params; ++i) {
    at::Tensor value = view_tensor(*binding.values[i]);
    const sy_view* grad = binding.grads ? binding.grads[i] : nullptr;
    if (grad && declared[i].kind == SY_WEIGHT) {
      value.set_requires_grad(true);
      value.mutable_grad() = view_tensor(*grad);
    }
    names_.push_back(declared[i].name);
    values_.push_back(std::move(value));
  }
}

const at::Tensor& bound_params::find(std::string_view prefix, std::string_view name) const {
  static const at::Tensor none;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::string_view n = names_[i];
    if (n.size() == prefix.size() + name.size() && n.starts_with(prefix) && n.ends_with(name)) return values_[i];
  }
  return none;
}

at::Tensor bound_params::grad(std::string_view prefix, std::string_view name) const {
  const at::Tensor& value = find(prefix, name);
  return value.defined() && value.requires_grad() ? value.grad() : at::Tensor();
}

}  // namespace sy
