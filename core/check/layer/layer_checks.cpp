#include "check/layer/layer_checks.hpp"

#include "base/dtype.hpp"

namespace switchyard::checks {

void check_layer(const sy_layer_api& api, const Request& request, Subject& subject, const Listener& listener) {
  const Surroundings before;
  LayerCase what;
  Inspection inspection(subject, listener);
  const auto say_heading = [&] {
    if (listener.on_line) listener.on_line(heading(subject));
  };
  try {
    what = find_case(api, request);
  } catch (const Fault& fault) {
    say_heading();
    inspection.run("runs", [&] { throw fault; });
    return;
  }
  subject.with = case_text(what);
  say_heading();
  inspection.run("shapes", [&] { check_layer_shapes(what); });
  inspection.run("parameters", [&] { check_layer_parameters(what); });
  inspection.run("no undeclared weights", [&] { check_layer_weights(what); });
  inspection.run("costs", [&] { check_layer_costs(what); });
  inspection.run("gradients", [&] { check_layer_gradients(what); });
  inspection.run("split backward", [&] { check_layer_split(what); });
  inspection.run("replay", [&] { check_layer_replay(what); });
  inspection.run("repeatable", [&] { check_layer_repeats(what); });
  inspection.run("addresses", [&] {
    if (!inspection.passed("repeatable")) throw Skip("its numbers do not repeat");
    check_layer_addresses(what);
  });
  inspection.run("inputs unchanged", [&] { check_layer_read_only(what); });
  inspection.run("empty", [&] { check_layer_empty(what); });
  inspection.run("odd shapes", [&] {
    if (!inspection.passed("shapes") || !inspection.passed("gradients"))
      throw Skip("the plain shapes are wrong already");
    check_layer_odd_shapes(what);
  });
  for (const sy_dtype type : {dtype::bf16, dtype::f16})
    inspection.run(dtype_name(type), [&] {
      check_layer_precision(what, type);
      if (inspection.passed("shapes")) check_layer_shapes(what.in(type));
    });
  inspection.run("save and load", [&] {
    if (!inspection.passed("repeatable")) throw Skip("its numbers do not repeat");
    check_layer_save(what);
  });
  inspection.run("options", [&] {
    if (!inspection.passed("repeatable")) throw Skip("its numbers do not repeat");
    check_layer_options(what);
  });
  inspection.run("surroundings", [&] { check_layer_surroundings(what, before); });
}

}  // namespace switchyard::checks
