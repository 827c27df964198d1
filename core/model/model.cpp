#include "model/model.hpp"

#include "base/dtype.hpp"
#include "model/builder.hpp"
#include "plugin/host.hpp"

namespace switchyard {

namespace {

sy_port to_port(const Port& p, sy_dtype compute) {
  sy_port c{};
  c.size = sizeof(sy_port);
  c.dtype = p.dtype;
  c.compute = compute;
  c.ndim = static_cast<int32_t>(p.shape.size());
  std::copy(p.shape.begin(), p.shape.end(), c.shape);
  if (p.differentiable) c.flags |= SY_PORT_DIFFERENTIABLE;
  if (p.ignore_id) c.flags |= SY_PORT_IGNORE, c.ignore_id = *p.ignore_id;
  return c;
}

Port from_port(const sy_port& c) {
  if (c.ndim < 0 || c.ndim > SY_MAX_DIMS)
    throw Error(SY_E_ABI, "an output of " + std::to_string(c.ndim) + " dimensions");
  return {{c.shape, c.shape + c.ndim}, c.dtype, (c.flags & SY_PORT_DIFFERENTIABLE) != 0, 0, {}};
}

/// The C arrays for one call of infer or cost.
struct PortArray {
  std::vector<sy_port> ports;
  std::vector<sy_port*> pointers;
  explicit PortArray(std::size_t n) : ports(n), pointers(n) {
    for (std::size_t i = 0; i < n; ++i) ports[i].size = sizeof(sy_port), pointers[i] = &ports[i];
  }
  PortArray(const std::vector<Port>& from, sy_dtype compute) : PortArray(from.size()) {
    for (std::size_t i = 0; i < from.size(); ++i) ports[i] = to_port(from[i], compute);
  }
};

std::vector<Port> infer_layer(const Layer& layer, uint32_t kind, std::vector<Port>& in) {
  PortArray inputs(in, layer.compute);
  PortArray outputs(8);
  uint32_t n_out = 0;
  call_plugin([&](sy_error** e) {
    return layer.api->infer(layer.handle, kind, inputs.pointers.data(), static_cast<uint32_t>(in.size()),
                            outputs.pointers.data(), 8, &n_out, e);
  });
  if (n_out > 8) throw Error(SY_E_ABI, "more than 8 outputs");
  for (std::size_t i = 0; i < in.size(); ++i) in[i].id_limit = inputs.ports[i].id_limit;
  std::vector<Port> out;
  for (uint32_t i = 0; i < n_out; ++i) out.push_back(from_port(outputs.ports[i]));
  return out;
}

void tighten(int64_t& limit, int64_t wanted) {
  if (wanted > 0 && (limit == 0 || wanted < limit)) limit = wanted;
}

}  // namespace

uint64_t byte_count(const Port& port) { return static_cast<uint64_t>(element_count(port.shape)) * port.dtype.bits / 8; }

sy_dtype precision_dtype(const std::string& name) {
  return name == "bf16" ? dtype::bf16 : name == "fp16" ? dtype::f16 : dtype::f32;
}

std::string Layer::text() const { return "layer " + std::to_string(index) + " '" + name + "' (" + type + ")"; }

Model::~Model() {
  for (Layer& layer : layers_)
    if (layer.handle) layer.api->destroy(layer.handle);
}

int64_t Model::weight_count() const {
  int64_t n = 0;
  for (const Parameter& p : parameters_)
    if (p.kind == SY_WEIGHT && !p.is_tied()) n += p.count();
  return n;
}

Error in_planning(const Layer& layer, const Error& error) {
  Error placed(error.code() == SY_E_ABI ? SY_E_ABI : SY_E_CONFIG, layer.place, layer.text() + ": " + error.what());
  placed.note("layer", layer.name);
  return placed;
}

const Shapes& Model::shapes(uint32_t kind, int64_t rows, const Shape& input_shape) {
  auto& cached = shapes_[std::to_string(kind) + " " + std::to_string(rows) + " " + shape_text(input_shape)];
  if (!cached) cached = std::make_unique<Shapes>(infer(kind, rows, input_shape, -1));
  return *cached;
}

std::vector<sy_cost> Model::costs(uint32_t kind, int64_t rows) {
  const Shapes& known = shapes(kind, rows);
  std::vector<sy_cost> all;
  for (const Layer& layer : layers_) {
    PortArray in(known.in[layer.index], layer.compute);
    sy_cost cost{};
    cost.size = sizeof(cost);
    try {
      call_plugin([&](sy_error** e) {
        return layer.api->cost(layer.handle, kind, in.pointers.data(), static_cast<uint32_t>(in.ports.size()), &cost,
                               e);
      });
    } catch (const Error& e) {
      throw in_planning(layer, e);
    }
    all.push_back(cost);
  }
  return all;
}

Shapes Model::infer(uint32_t kind, int64_t rows, const Shape& input_shape, int end) {
  Shapes s;
  s.in.resize(layers_.size());
  s.out.resize(layers_.size());
  const auto with_rows = [&](Shape shape) {
    shape.insert(shape.begin(), rows);
    return shape;
  };
  s.batch_inputs = {with_rows(input_shape), batch_.input_dtype, false, 0, {}};
  Shape target = batch_.target_shape.value_or(Shape{});
  // Token models may meet shorter sequences; targets follow them.
  if (target == batch_.input_shape) target = input_shape;
  s.batch_targets = {with_rows(target), batch_.target_dtype, false, 0, batch_.ignore};
  for (Layer& layer : layers_) {
    if (layer.index == end) break;
    std::vector<Port>& in = s.in[layer.index];
    for (const Source& from : layer.inputs) {
      if (from.targets && layer.is_loss() && kind != SY_TRAIN && kind != SY_EVAL) continue;  // predictions need none
      if (from.layer >= 0 && static_cast<std::size_t>(from.output) >= s.out[from.layer].size())
        throw Error(SY_E_CONFIG, layer.place,
                    layer.text() + ": " + layers_[from.layer].text() + " has no output " + std::to_string(from.output));
      Port p = from.layer >= 0 ? s.out[from.layer][from.output] : from.targets ? s.batch_targets : s.batch_inputs;
      if (from.layer >= 0) p.id_limit = 0, p.ignore_id.reset();
      if (is_float(p.dtype) && !from.targets) p.dtype = layer.compute;
      in.push_back(std::move(p));
    }
    try {
      s.out[layer.index] = infer_layer(layer, kind, in);
    } catch (const Error& e) {
      throw in_planning(layer, e);
    }
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (layer.inputs[i].layer >= 0) continue;
      tighten(layer.inputs[i].targets ? s.batch_targets.id_limit : s.batch_inputs.id_limit, in[i].id_limit);
    }
    if (!layer.is_loss())
      for (Port& p : s.out[layer.index])
        if (layer.kept && is_float(p.dtype)) p.dtype = run_type_;
  }
  return s;
}

std::unique_ptr<Model> Model::create(const Config& config, Registry& registry, const BatchSpec& batch, int64_t rows) {
  std::unique_ptr<Model> model(new Model);
  ModelBuilder(*model, config, registry).build(batch, rows);
  return model;
}

}  // namespace switchyard
