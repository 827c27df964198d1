// Other shapes and other addresses: no rows, one row, odd sizes, data that begins anywhere.
#include <cmath>

#include "base/dtype.hpp"
#include "check/layer/layer_checks.hpp"

namespace switchyard::checks {

namespace {

/// The dimension behind the rows, or the last one, of every input that has it.
LayerCase with_size(const LayerCase& what, bool last, int64_t size) {
  LayerCase other = what;
  for (std::size_t i = 0; i < other.inputs.size(); ++i) {
    Shape& shape = other.inputs[i].shape;
    const bool shorter = what.is_target(i) && shape.size() < what.inputs[0].shape.size();
    if (shape.size() > 1 && !(last && shorter)) (last ? shape.back() : shape[1]) = size;
  }
  return other;
}

/// False: the layer refuses this shape.
bool accepts(const LayerCase& what) {
  try {
    LayerTrial trial(what);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string shapes_text(const LayerCase& what) {
  std::string text;
  for (const Port& p : what.inputs) text += (text.empty() ? "" : " and ") + shape_text(p.shape);
  return text;
}

void expect_works(const LayerCase& what) {
  try {
    check_layer_shapes(what);
    check_layer_gradients(what);
  } catch (const Fault& fault) {
    throw Fault("with inputs of " + shapes_text(what) + ": " + fault.what(), "or refuse such shapes in infer");
  } catch (const Error& e) {
    throw Fault("infer takes inputs of " + shapes_text(what) + ", but a call fails: " + e.what(),
                "refuse them in infer, or compute them");
  } catch (const Skip&) {
  }
}

double largest_difference(const std::vector<Named>& a, const std::vector<Named>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (!is_float(a[i].type)) continue;
    const Numbers x = a[i].numbers(), y = b[i].numbers();
    for (std::size_t e = 0; e < x.size() && e < y.size(); ++e) {
      const double off = std::abs(x[e] - y[e]) / std::max(1.0, std::abs(x[e]));
      if (!(off <= most)) most = off;
    }
  }
  return most;
}

}  // namespace

void check_layer_empty(const LayerCase& what) {
  const LayerCase empty = what.with_rows(0);
  if (!accepts(empty)) throw Skip("it refuses inputs without rows");
  LayerTrial trial(empty);
  std::vector<Named> all;
  try {
    all = trial.run(trial.draw_inputs());
  } catch (const Error& e) {
    throw Skip(std::string("a call without rows is refused: ") + e.what());
  }
  for (const Named& n : all) {
    if (!is_float(n.type) || n.name.starts_with("the accumulator")) continue;
    for (const double x : n.numbers())
      if (x != 0 && !what.is_loss())
        throw Fault("without rows, " + n.name + " is not zero",
                    "add nothing where there are no rows, or refuse them in infer");
  }
}

void check_layer_odd_shapes(const LayerCase& what) {
  std::vector<LayerCase> odd{what.with_rows(1), what.with_rows(3), what.with_rows(7)};
  for (const int64_t size : {1, 5, 7})
    odd.push_back(with_size(what, true, size)), odd.push_back(with_size(what, false, size));
  for (const LayerCase& c : odd)
    if (accepts(c)) expect_works(c);
}

void check_layer_addresses(const LayerCase& what) {
  LayerCase moved = what;
  moved.lead = 3 * 8;  // whole elements of every type, and not where vector instructions would have it
  LayerTrial here(what), there(moved);
  const std::vector<HostArray> inputs = there.draw_inputs();
  const std::vector<Named> expected = here.run(here.draw_inputs()), found = there.run(inputs);
  if (largest_difference(expected, found) > (what.compute.bits == 16 ? 1e-2 : 1e-5))
    throw Fault("numbers change with a byte_offset in the views: " + difference(expected, found),
                "data begins at (char *)view.data + view.byte_offset, aligned to one element");
  for (const HostArray& in : inputs)
    if (!in.guards_hold())
      throw Fault("bytes beside an input were written", "inputs are read-only; write only what you made");
}

void check_layer_read_only(const LayerCase& what) {
  LayerTrial trial(what);
  const std::vector<HostArray> inputs = trial.draw_inputs(), gradients = trial.draw_gradients();
  const auto copies = [](const std::vector<HostArray>& arrays, const std::string& what_) {
    std::vector<Named> all;
    for (std::size_t i = 0; i < arrays.size(); ++i)
      if (!arrays[i].shape().empty()) all.push_back(copy_of(what_ + std::to_string(i), arrays[i]));
    return all;
  };
  const std::vector<Named> in = copies(inputs, "input "), back = copies(gradients, "the gradient of output ");
  const std::vector<Named> values = trial.state();
  trial.start_step();
  Pass pass = trial.forward(inputs);
  const std::string written = difference(in, copies(inputs, "input "));
  const std::string weights = difference(values, trial.state());
  trial.backward(pass, gradients);
  const std::string change = "compute into memory of your own: other layers read the same tensor";
  if (!written.empty()) throw Fault("forward writes " + written, change);
  if (!weights.empty())
    throw Fault("forward writes the parameter " + weights,
                "only the optimizer and finish change them; gather in an accumulator");
  if (const std::string d = difference(in, copies(inputs, "input ")); !d.empty())
    throw Fault("backward writes " + d, change);
  for (const uint32_t kind : {SY_EVAL, SY_FORWARD}) trial.predict(inputs, kind);
  if (const std::string d = difference(in, copies(inputs, "input ")); !d.empty())
    throw Fault("a prediction writes " + d, change);
  if (const std::string d = difference(back, copies(gradients, "the gradient of output ")); !d.empty())
    throw Fault("backward writes " + d, change);
  if (const std::string d = difference(values, trial.state()); !d.empty())
    throw Fault("backward writes the parameter " + d, "only the optimizer and finish change them");
}

}  // namespace switchyard::checks
