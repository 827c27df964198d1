// Declared shapes and parameters against what the calls give.
#include <set>

#include "base/dtype.hpp"
#include "check/layer/layer_checks.hpp"
#include "model/initial.hpp"

namespace switchyard::checks {

namespace {

const char* kind_text(uint32_t kind) { return kind == SY_TRAIN ? "TRAIN" : kind == SY_EVAL ? "EVAL" : "FORWARD"; }

void expect_port(const std::string& which, const Port& declared, const Tensor& given) {
  if (!given) throw Fault(which + " was not given", "put a tensor into call.out for each output that infer names");
  const sy_view& v = given.view();
  if (shape_of(v) != declared.shape || !same_dtype(v.dtype, declared.dtype))
    throw Fault(which + " is " + shape_text(shape_of(v)) + " " + dtype_name(v.dtype) + ", but infer said " +
                    shape_text(declared.shape) + " " + dtype_name(declared.dtype),
                "make infer and forward say the same");
  if (v.device.type != SY_DEVICE_CPU || v.device.index != 0)
    throw Fault(which + " is on another device", "make outputs for call.device");
}

void expect_forward(LayerTrial& trial, const std::vector<HostArray>& inputs, uint32_t kind) {
  const std::vector<Port> declared = trial.infer(kind);
  const bool keeps = kind == SY_TRAIN;
  Pass pass = trial.forward(inputs, {.kind = kind, .flags = keeps ? 0u : uint32_t{SY_CALL_NO_SAVE}});
  const bool saved = pass.saved;
  trial.free_saved(pass);
  if (saved && !keeps)
    throw Fault("a call with SY_CALL_NO_SAVE left a saved handle", "leave *saved NULL when that flag is set");
  for (std::size_t o = 0; o < declared.size(); ++o)
    expect_port(std::string(kind_text(kind)) + ": output " + std::to_string(o), declared[o], pass.outputs[o]);
}

void expect_input_gradients(LayerTrial& trial, const std::vector<HostArray>& inputs) {
  Pass pass = trial.forward(inputs);
  const std::vector<Tensor> back = trial.backward(pass, trial.draw_gradients());
  for (std::size_t i = 0; i < back.size(); ++i) {
    if (back[i] && !trial.wants(i))
      throw Fault("backward gave a gradient of input " + std::to_string(i) + ", which nobody wants",
                  "write only those slots of call.out whose bit is set in call.want");
    if (back[i]) expect_port("the gradient of input " + std::to_string(i), trial.inputs()[i], back[i]);
  }
}

void expect_sound(const TrialParam& p) {
  const std::string which = "'" + p.name + "'";
  if (p.name.empty()) throw Fault("a parameter has no name", "name each one in params");
  if (p.kind > SY_CACHE)
    throw Fault(which + " has kind " + std::to_string(p.kind), "use SY_WEIGHT, SY_BUFFER, SY_ACCUMULATOR or SY_CACHE");
  if (p.kind == SY_WEIGHT && !is_float(p.value.type()))
    throw Fault("the weight " + which + " is no float",
                "declare it as SY_BUFFER, or of SY_CLASS_COMPUTE or SY_CLASS_FP32");
  for (const int64_t d : p.value.shape())
    if (d < 1)
      throw Fault(which + " has shape " + shape_text(p.value.shape()),
                  "declare sizes of 1 and more; they are known after infer");
  try {
    Distribution::parse(p.init);
  } catch (const Error& e) {
    throw Fault(which + ": " + e.what(), "write init as one of these forms");
  }
}

std::string text_of(const std::vector<TrialParam>& all) {
  std::string text;
  for (const TrialParam& p : all)
    text += p.name + " " + shape_text(p.value.shape()) + " " + dtype_name(p.value.type()) + " " + p.init + " " +
            std::to_string(p.kind) + " " + p.tied_to + "\n";
  return text;
}

}  // namespace

void check_layer_shapes(const LayerCase& what) {
  LayerTrial trial(what);
  const std::vector<HostArray> inputs = trial.draw_inputs();
  for (const uint32_t kind : {SY_TRAIN, SY_EVAL, SY_FORWARD}) expect_forward(trial, inputs, kind);
  for (const Port& out : trial.outputs())
    if (!what.is_loss() && (out.shape.empty() || out.shape[0] != trial.rows()))
      throw Fault(
          "infer gives an output of shape " + shape_text(out.shape) + " for " + std::to_string(trial.rows()) + " rows",
          "keep the rows (shape[0]) of the inputs: a micro-batch has as many");
  expect_input_gradients(trial, inputs);
}

void check_layer_parameters(const LayerCase& what) {
  LayerTrial trial(what);
  std::set<std::string> names;
  for (const TrialParam& p : trial.params()) {
    expect_sound(p);
    if (!names.insert(p.name).second)
      throw Fault("two parameters are called '" + p.name + "'", "give each a name of its own");
  }
  trial.run(trial.draw_inputs());
  if (text_of(trial.declared()) != text_of(trial.params()))
    throw Fault("params answers otherwise after a step", "declare the same parameters as long as the layer lives");
  for (const TrialParam& p : trial.params())
    if (!p.value.guards_hold() || (p.kind == SY_WEIGHT && !p.grad.guards_hold()))
      throw Fault("bytes beside '" + p.name + "' were written: it is used as if it were larger than " +
                      shape_text(p.value.shape()) + " " + dtype_name(p.value.type()),
                  "declare its full shape, or write only inside of it");
}

}  // namespace switchyard::checks
