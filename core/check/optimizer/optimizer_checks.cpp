#include "check/optimizer/optimizer_checks.hpp"

#include <cmath>
#include <set>

#include "base/dtype.hpp"
#include "check/optimizer/flat_trial.hpp"
#include "check/options_used.hpp"
#include "check/surroundings.hpp"

namespace switchyard::checks {

namespace {

class OptimizerChecks {
 public:
  OptimizerChecks(const sy_optimizer_api& api, const Request& request) : api_(api), table_(request.options) {
    std::size_t n = 0;
    for (const OptionSpec& s : options_of(api))
      if (!s.fallback && !table_.find(s.key)) table_.set(s.key, guess(s, n));
  }

  void run(Inspection& inspection) const {
    inspection.run("states", [&] { states(); });
    inspection.run("repeatable", [&] { repeatable(); });
    inspection.run("save and load", [&] {
      if (!inspection.passed("repeatable")) throw Skip("its numbers do not repeat");
      save_and_load();
    });
    inspection.run("loss scale and clipping", [&] { scale(); });
    inspection.run("learning rate", [&] { learning_rate(); });
    inspection.run("decay", [&] { decay(); });
    inspection.run("skipped steps", [&] { skipped(); });
    inspection.run("padding", [&] { padding(); });
    inspection.run("copies in bf16 and fp16", [&] { copies(); });
    inspection.run("gradients in bf16", [&] {
      if (!inspection.passed("repeatable")) throw Skip("its numbers do not repeat");
      narrow_gradients();
    });
    inspection.run("norms", [&] { norms(); });
    inspection.run("options", [&] {
      expect_options_used(options_of(api_), table_, [&](const Value& table) { return face(table); });
    });
    inspection.run("surroundings", [&] { before_.expect_kept(); });
  }

 private:
  ChosenOptimizer made(const Value& table) const { return ChosenOptimizer(api_, table, std::string(api_.id) + ":"); }

  std::vector<Named> trained(const Value& table, int64_t steps, const FlatOptions& options = {}) const {
    const ChosenOptimizer optimizer = made(table);
    FlatTrial trial(optimizer, options);
    for (int64_t s = 1; s <= steps; ++s) trial.step(s);
    return trial.numbers();
  }

  void states() const {
    const ChosenOptimizer optimizer = made(table_);
    const FlatTrial trial(optimizer);
    std::set<std::string> names;
    for (const std::string& name : trial.state_names())
      if (name.empty() || !names.insert(name).second)
        throw Fault("a state is called '" + name + "'",
                    "give each state a name of its own: checkpoints hold them by name");
  }

  void repeatable() const {
    const ChosenOptimizer one = made(table_), other = made(table_);
    FlatTrial a(one), b(one), c(other);
    for (int64_t s = 1; s <= 3; ++s) a.step(s), b.step(s), c.step(s);
    const std::string change =
        "let a step follow from the span and the control alone: an optimizer serves several spans";
    if (const std::string d = difference(a.numbers(), c.numbers()); !d.empty())
      throw Fault("two of them give different numbers: " + d, change);
    if (const std::string d = difference(a.numbers(), b.numbers()); !d.empty())
      throw Fault("two spans of one optimizer give different numbers: " + d, change);
  }

  void save_and_load() const {
    const ChosenOptimizer one = made(table_), other = made(table_);
    FlatTrial saved(one), loaded(other);
    saved.step(1), saved.step(2);
    loaded.take_numbers(saved);
    saved.step(3), loaded.step(3);
    if (const std::string d = difference(saved.numbers(), loaded.numbers()); !d.empty())
      throw Fault("after loading weights and states, the next step gives other numbers: " + d,
                  "declare what it remembers in states, and take the number of the step from control.step");
  }

  void scale() const {
    const ChosenOptimizer optimizer = made(table_);
    FlatTrial plain(optimizer);
    FlatOptions larger;
    larger.gradient_factor = 8;
    FlatTrial scaled(optimizer, larger), clipped(optimizer, larger);
    for (int64_t s = 1; s <= 3; ++s) {
      sy_opt_control by_scale = plain_control(s), by_clip = plain_control(s);
      by_scale.inv_scale = 1.0 / 8, by_clip.clip_factor = 1.0 / 8;
      plain.step(s), scaled.step(s, by_scale), clipped.step(s, by_clip);
    }
    if (const std::string d = difference(plain.numbers(), scaled.numbers()); !d.empty())
      throw Fault("gradients times 8 with inv_scale = 1/8 give other numbers: " + d,
                  "multiply each gradient by control.inv_scale first");
    if (const std::string d = difference(plain.numbers(), clipped.numbers()); !d.empty())
      throw Fault("gradients times 8 with clip_factor = 1/8 give other numbers: " + d,
                  "multiply each gradient by control.clip_factor first");
  }

  void learning_rate() const {
    const ChosenOptimizer optimizer = made(table_);
    FlatOptions half;
    for (TrialSegment& s : half.segments) s.lr_scale = 0.5;
    FlatTrial by_scale(optimizer, half), by_control(optimizer), none(optimizer), start(optimizer);
    for (int64_t s = 1; s <= 2; ++s) {
      sy_opt_control c = plain_control(s);
      by_scale.step(s, c);
      c.lr *= 0.5;
      by_control.step(s, c);
      c.lr = 0;
      none.step(s, c);
    }
    if (const std::string d = difference(by_scale.numbers(), by_control.numbers()); !d.empty())
      throw Fault("lr_scale = 0.5 does not do what half of control.lr does: " + d,
                  "multiply control.lr by each segment's lr_scale");
    if (const std::string d = difference({none.numbers()[0]}, {start.numbers()[0]}); !d.empty())
      throw Fault("with a learning rate of 0 the weights change: " + d,
                  "multiply every change of a weight by control.lr");
    if (difference({by_control.numbers()[0]}, {start.numbers()[0]}).empty())
      throw Fault("two steps change no weight", "update span.value within each segment");
  }

  void decay() const {
    Value table = table_;
    bool found = false;
    for (const OptionSpec& s : options_of(api_))
      if (s.type == SY_T_F64 && s.key.find("decay") != std::string::npos) table.set(s.key, Value(0.5)), found = true;
    if (!found) throw Skip("no option of it is called decay");
    const ChosenOptimizer optimizer = made(table);
    FlatOptions none;
    for (TrialSegment& s : none.segments) s.decay = 0;
    FlatTrial mixed(optimizer), without(optimizer, none);
    for (int64_t s = 1; s <= 3; ++s) mixed.step(s), without.step(s);
    for (std::size_t s = 0; s < usual_segments().size(); ++s) {
      const bool same = mixed.values_of(s) == without.values_of(s), wanted = usual_segments()[s].decay == 0;
      if (!same && wanted)
        throw Fault("a segment with decay = 0 decays", "multiply the weight decay by each segment's decay");
      if (same && !wanted)
        throw Fault("a segment with decay = 1 does not decay", "multiply the weight decay by each segment's decay");
    }
  }

  void skipped() const {
    const ChosenOptimizer optimizer = made(table_);
    FlatTrial trial(optimizer), before(optimizer);
    trial.step(1), before.step(1);
    sy_opt_control c = plain_control(2);
    c.skip = 1;
    trial.step(2, c);
    if (const std::string d = difference(before.numbers(), trial.numbers()); !d.empty())
      throw Fault("a step with control.skip changes numbers: " + d,
                  "leave weights and states as they are when skip is not 0");
  }

  void padding() const {
    const ChosenOptimizer optimizer = made(table_);
    FlatTrial trial(optimizer);
    trial.step(1), trial.step(2);
    if (!trial.padding_holds())
      throw Fault("elements between segments are no longer zero, or bytes beside the span were written",
                  "update the elements from offset to offset + count of each segment, no others");
  }

  void copies() const {
    for (const sy_dtype type : {dtype::bf16, dtype::f16}) {
      FlatOptions options;
      options.copy = type;
      const ChosenOptimizer optimizer = made(table_);
      FlatTrial trial(optimizer, options);
      trial.step(1);
      if (const std::string d = difference({trial.copy()}, {trial.rounded_weights()}); !d.empty())
        throw Fault("the copy of the weights in " + dtype_name(type) + " is not the rounded weights: " + d,
                    "where span.copy is not NULL, write each new weight into it, rounded to nearest even");
    }
  }

  void narrow_gradients() const {
    FlatOptions narrow;
    narrow.gradients = dtype::bf16;
    std::vector<Named> found;
    try {
      found = trained(table_, 2, narrow);
    } catch (const Error& e) {
      throw Skip(std::string("it refuses them: ") + e.what());
    }
    if (const std::string d = difference(trained(table_, 2), found); !d.empty())
      throw Fault("the same gradients in bf16 give other numbers: " + d,
                  "read gradients by span.grad_dtype, or refuse bf16");
  }

  void norms() const {
    const ChosenOptimizer optimizer = made(table_);
    FlatTrial trial(optimizer);
    FlatOptions moved;
    moved.segments = {{256, 37, 1, 1}, {0, 200, 0, 1}, {500, 5, 1, 1}};
    FlatTrial other(optimizer, moved);
    const std::vector<double> found = trial.norms(1), elsewhere = other.norms(1);
    for (std::size_t s = 0; s < found.size(); ++s) {
      Draw draw(1000 + s);
      double sum = 0;
      for (uint64_t i = 0; i < usual_segments()[s].count; ++i) {
        const double g = bf16_to_f32(f32_to_bf16(static_cast<float>(draw.number())));
        sum += g * g;
      }
      if (!(std::abs(found[s] - sum) <= 1e-5 * sum))
        throw Fault("norms gives " + std::to_string(found[s]) + " for segment " + std::to_string(s) +
                        ", the sum of squares is " + std::to_string(sum),
                    "add the squares of the stored gradients of each segment");
      if (found[s] != elsewhere[s])
        throw Fault("norms gives other bits when segment " + std::to_string(s) + " lies elsewhere",
                    "add in an order that depends on nothing but the segment");
    }
  }

  std::string face(const Value& table) const {
    try {
      std::string text;
      for (const Named& n : trained(table, 3))
        text += n.name + std::string(reinterpret_cast<const char*>(n.bytes.data()), n.bytes.size());
      return text;
    } catch (const Error& e) {
      return std::string("refused: ") + e.what();
    }
  }

  const Surroundings before_;
  const sy_optimizer_api& api_;
  Value table_;
};

}  // namespace

void check_optimizer(const sy_optimizer_api& api, const Request& request, Subject& subject, const Listener& listener) {
  Inspection inspection(subject, listener);
  if (listener.on_line) listener.on_line(heading(subject));
  OptimizerChecks(api, request).run(inspection);
}

}  // namespace switchyard::checks
