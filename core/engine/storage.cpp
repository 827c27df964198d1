#include "engine/storage.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "plan/plan.hpp"

namespace switchyard {

DeviceStorage::DeviceStorage(const Device& device, int index, const Model& model,
                             const std::vector<int>& device_of_layer, const StorageOptions& options,
                             std::vector<Stored>& stored)
    : device_(device) {
  std::vector<std::pair<sy_dtype, std::vector<int>>> groups;
  std::vector<int> singles;
  for (const Parameter& p : model.parameters()) {
    if (device_of_layer[p.layer] != index) continue;
    stored[p.index].device = index;
    if (!p.trainable || p.is_tied()) {
      singles.push_back(p.index);
      continue;
    }
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == p.dtype; });
    if (group == groups.end()) group = groups.insert(groups.end(), {p.dtype, {}});
    group->second.push_back(p.index);
  }
  spans_.reserve(groups.size());
  for (const auto& [type, parameters] : groups) add_group(model, type, parameters, options, stored);
  for (const int p : singles) {
    const Parameter& parameter = model.parameters()[p];
    const bool with_owner = parameter.is_tied() && device_of_layer[model.parameters()[parameter.owner].layer] == index;
    add_single(parameter, with_owner, options, stored);
  }
}

Block DeviceStorage::zeroed(uint64_t bytes) {
  Block block = device_.allocate(bytes);
  device_.zero(OwnedView(block.data(), device_.id(), dtype::u8, {static_cast<int64_t>(bytes)}).get());
  return block;
}

void DeviceStorage::add_group(const Model& model, sy_dtype type, const std::vector<int>& parameters,
                              const StorageOptions& options, std::vector<Stored>& stored) {
  uint64_t elements = 0;
  for (const int p : parameters) elements += padded(model.parameters()[p].count());
  const auto block = [&](sy_dtype of) {
    blocks_.push_back(zeroed(elements * of.bits / 8));
    return blocks_.back().data();
  };
  const bool copied = !(type == dtype::f32);
  char* value = block(dtype::f32);
  char* copy = copied ? block(type) : nullptr;
  char* gradient = block(options.gradient_dtype);
  auto states = std::make_unique<std::vector<float*>>();
  for (int s = 0; s < options.states; ++s) states->push_back(reinterpret_cast<float*>(block(dtype::f32)));
  cleared_.emplace_back(gradient, device_.id(), options.gradient_dtype, Shape{static_cast<int64_t>(elements)});

  auto list = std::make_unique<std::vector<const sy_opt_segment*>>();
  uint64_t offset = 0;
  for (const int index : parameters) {
    const Parameter& p = model.parameters()[index];
    Stored& s = stored[index];
    const auto at = [&](char* base, sy_dtype of) {
      return OwnedView(base + offset * of.bits / 8, device_.id(), of, p.shape);
    };
    s.trained = true;
    s.master = at(value, dtype::f32);
    s.value = copied ? at(copy, type) : s.master;
    s.gradient = at(gradient, options.gradient_dtype);
    for (float* state : *states) s.states.push_back(at(reinterpret_cast<char*>(state), dtype::f32));
    const bool decays = !p.no_decay && (options.decay_all || p.shape.size() >= 2);
    segments_.push_back(
        std::make_unique<sy_opt_segment>(sy_opt_segment{sizeof(sy_opt_segment), static_cast<uint32_t>(index), offset, 0,
                                                        static_cast<uint64_t>(p.count()), decays ? 1.0 : 0.0, 1.0}));
    list->push_back(segments_.back().get());
    offset += padded(p.count());
  }
  Span span;
  span.span = {sizeof(sy_opt_span),
               static_cast<uint32_t>(list->size()),
               elements,
               device_.id(),
               reinterpret_cast<float*>(value),
               gradient,
               options.gradient_dtype,
               type,
               copy,
               states->data(),
               list->data()};
  span.parameters = parameters;
  span.norms = zeroed(list->size() * sizeof(double));
  spans_.push_back(std::move(span));
  segment_lists_.push_back(std::move(list));
  state_lists_.push_back(std::move(states));
}

void DeviceStorage::add_single(const Parameter& p, bool with_owner, const StorageOptions& options,
                               std::vector<Stored>& stored) {
  Stored& s = stored[p.index];
  const uint64_t elements = padded(p.count());
  if (with_owner) {
    s.value = stored[p.owner].value;  // the owner is an earlier layer, so that it has its place already
    s.owns_value = false;
  } else {
    blocks_.push_back(zeroed(elements * p.dtype.bits / 8));
    s.value = OwnedView(blocks_.back().data(), device_.id(), p.dtype, p.shape);
    if (p.kind == SY_ACCUMULATOR) cleared_.push_back(s.value);
  }
  if (p.is_tied() && p.trainable) {
    blocks_.push_back(zeroed(elements * options.gradient_dtype.bits / 8));
    s.gradient = OwnedView(blocks_.back().data(), device_.id(), options.gradient_dtype, p.shape);
    cleared_.push_back(*s.gradient);
  }
}

void DeviceStorage::start_step() const {
  for (const OwnedView& v : cleared_) device_.zero(v.get());
}

}  // namespace switchyard
