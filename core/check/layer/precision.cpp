// bf16 and fp16 against fp32, from the same rounded inputs and weights.
#include <algorithm>
#include <cmath>

#include "base/dtype.hpp"
#include "check/layer/layer_checks.hpp"

namespace switchyard::checks {

namespace {

/// Numbers of one trial become those of another, rounded to the narrower type in both.
void copy_rounded(const HostArray& from, const HostArray& to) {
  if (!is_float(from.type())) {
    std::copy_n(from.data(), from.bytes(), to.data());
    return;
  }
  to.write(from.numbers());
  from.write(to.numbers());
}

double largest(const Numbers& numbers) {
  double most = 0;
  for (const double x : numbers) most = std::max(most, std::abs(x));
  return most;
}

}  // namespace

void check_layer_precision(const LayerCase& what, sy_dtype type) {
  if (same_dtype(what.compute, type)) throw Skip("the other checks compute in it");
  const std::string name = dtype_name(type);
  const LayerCase half = what.in(type);
  try {
    LayerTrial probe(half);
  } catch (const Error& e) {
    throw Skip(std::string("it refuses the type: ") + e.what());
  }
  LayerTrial narrow(half), wide(what);
  const std::vector<HostArray> in = wide.draw_inputs(), in_half = narrow.draw_inputs();
  for (std::size_t i = 0; i < in.size(); ++i) copy_rounded(in[i], in_half[i]);
  for (std::size_t i = 0; i < wide.params().size(); ++i) copy_rounded(wide.params()[i].value, narrow.params()[i].value);
  const std::vector<Named> expected = wide.run(in), found = narrow.run(in_half);
  const double tolerance = type == dtype::bf16 ? 0.06 : 0.02;
  for (std::size_t n = 0; n < expected.size() && n < found.size(); ++n) {
    if (!is_float(expected[n].type)) continue;
    const Numbers a = expected[n].numbers(), b = found[n].numbers();
    const double scale = std::max(1e-2, largest(a));
    for (std::size_t e = 0; e < a.size(); ++e)
      if (!(std::abs(a[e] - b[e]) <= tolerance * scale))
        throw Fault(found[n].name + " is " + std::to_string(b[e]) + " at element " + std::to_string(e) + " in " + name +
                        ", but " + std::to_string(a[e]) + " in fp32",
                    "read and write by the type of each view and add in fp32, or refuse " + name + " in infer");
  }
}

}  // namespace switchyard::checks
