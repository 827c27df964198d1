// A layer that is the identity, y = x, until it misbehaves: for tests of what the core does then.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bound.hpp"

namespace {

using plain::in;
using plain::wants;

/// When the fault strikes: at this call of this step and micro-batch, or always where a number is left out.
struct trigger {
  std::string call;
  int64_t step, micro_batch;
  bool hit(const char* now, const sy_call& c) const {
    return call == now && (step < 0 || step == static_cast<int64_t>(c.step)) &&
           (micro_batch < 0 || micro_batch == static_cast<int64_t>(c.micro_batch));
  }
};

class Faulty : public plain::bound {
 public:
  static constexpr const char* id = "faulty";
  static constexpr const char* help = "the identity, until it misbehaves as told";
  static constexpr const char* faults[] = {
      "none",          // the identity
      "throw",         // std::runtime_error
      "throw_int",     // throw 42
      "bad_alloc",     // std::bad_alloc
      "escape",        // an exception that leaves the plugin: forward and backward only
      "nan",           // the first element of each output, or input gradient
      "inf_gradient",  // the first element of the weight's gradient, set in backward
      "over_memory",   // charges `bytes` more than declared, for the length of the call
      "keep_memory",   // the same, kept until the saved handle goes
      "squeeze",       // drops a dimension of size 1 from the front of the output
      "wide",          // one column too many
      "wrong_type",    // fp64 output
      "wrong_device",  // output on the next device
      "transpose",     // a strided view with the right shape and numbers: must be taken
      "no_output",     // SY_OK, but the slot stays empty
      "alias",         // returns its input, undeclared
      "write_input",   // changes its input
      "slow",          // sleeps `ms`
      nullptr};
  static constexpr const char* calls[] = {"create",  "infer",    "params", "cost", "bind",
                                          "forward", "backward", "finish", nullptr};
  static constexpr sy_option options[] = {
      sy::str_option("fault", "\"none\"", faults, "what goes wrong"),
      sy::str_option("in", "\"forward\"", calls, "in which call"),
      sy::i64_option("step", "-1", -1, 1e9, "at which step; -1: at each"),
      sy::i64_option("micro_batch", "-1", -1, 1e9, "at which micro-batch; -1: at each"),
      sy::i64_option("ms", "100", 0, 1e6, "how long to sleep", "ms"),
      sy::i64_option("bytes", "1073741824", 0, 1e15, "how much more memory to take", "bytes"),
  };
  struct saved {
    sy::tensor kept;
  };

  explicit Faulty(const sy::config& c)
      : fault_(c.str("fault")),
        when_{c.str("in"), c.i64("step"), c.i64("micro_batch")},
        ms_(c.i64("ms")),
        bytes_(c.i64("bytes")) {
    on_control("create");
  }

  std::vector<sy::port> infer(uint32_t, sy::ports ports) {
    on_control("infer");
    plain::expect_inputs(ports, 1);
    plain::expect_numbers(*ports[0]);
    return {sy::like(*ports[0])};
  }
  /// One number, so that the layer has a gradient; it is added to nothing. To fail in finish the layer also has an
  /// accumulator: without one, finish is not called.
  std::vector<sy::param> params() const {
    on_control("params");
    std::vector<sy::param> all = {{"weight", {1}, "ones"}};
    if (when_.call == "finish") all.push_back({"passes", {1}, "zeros", SY_ACCUMULATOR, SY_CLASS_FP32});
    return all;
  }
  sy::cost cost(uint32_t, sy::const_ports ports) const {
    on_control("cost");
    return {static_cast<double>(plain::elements(*ports[0]))};
  }
  void bind(const sy_binding& b) {
    on_control("bind");
    plain::bound::bind(b);
  }

  saved forward(const sy_call& call) {
    const bool now = when_.hit("forward", call);
    saved s;
    if (now) strike(call, s.kept);
    call.out[0] = now ? misshapen(call, in(call, 0)) : plain::made_like(call, in(call, 0), plain::read(in(call, 0)));
    return s;
  }
  void backward(const sy_call& call, saved&&) {
    const bool now = when_.hit("backward", call);
    sy::tensor kept;
    if (now) strike(call, kept);
    if (now && fault_ == "inf_gradient") add_gradient(0, {std::numeric_limits<double>::infinity()});
    if (!wants(call, 0) || !call.in[0]) return;
    call.out[0] = now ? misshapen(call, in(call, 0)) : plain::made_like(call, in(call, 0), plain::read(in(call, 0)));
  }
  void finish(const sy_call& call) {
    sy::tensor kept;
    if (when_.hit("finish", call)) strike(call, kept);
  }

  bool escapes(const char* now, const sy_call& call) const { return fault_ == "escape" && when_.hit(now, call); }

 private:
  void on_control(const char* now) const {
    if (when_.call != now) return;
    raise(now);
    if (fault_ == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(ms_));
  }
  void raise(const std::string& now) const {
    if (fault_ == "throw") throw std::runtime_error("faulty: thrown in " + now + " as told");
    if (fault_ == "throw_int") throw 42;
    if (fault_ == "bad_alloc") throw std::bad_alloc();
  }
  /// What happens before there is an output.
  void strike(const sy_call& call, sy::tensor& kept) const {
    raise(when_.call);
    if (fault_ == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(ms_));
    if (fault_ == "over_memory") sy::new_host_tensor(call, {bytes_}, sy::u8);
    if (fault_ == "keep_memory") kept = sy::new_host_tensor(call, {bytes_}, sy::u8);
    if (fault_ == "write_input") plain::store(in(call, 0), 0, -12345.0f);
  }

  /// x as output or gradient, the way the fault wants it.
  sy_tensor* misshapen(const sy_call& call, const sy_view& x) const {
    std::vector<float> y = plain::read(x);
    std::vector<int64_t> shape = plain::shape(x);
    if (fault_ == "no_output") return nullptr;
    if (fault_ == "alias") return sy::tensor::keep(call.in[0]).give();
    if (fault_ == "nan" && !y.empty()) y[0] = std::numeric_limits<float>::quiet_NaN();
    if (fault_ == "squeeze" && shape[0] == 1) shape.erase(shape.begin());
    if (fault_ == "wide") shape.back() += 1, y.resize(y.size() + y.size() / static_cast<std::size_t>(shape.back() - 1));
    if (fault_ == "wrong_type") return sy::new_host_tensor(call, shape, sy::f64).give();
    if (fault_ == "wrong_device") {
      sy_call elsewhere = call;
      ++elsewhere.device.index;
      return plain::made(elsewhere, shape, x.dtype, std::span<const float>(y));
    }
    if (fault_ == "transpose" && shape.size() >= 2) return transposed(call, shape, x.dtype, y);
    return plain::made(call, shape, x.dtype, std::span<const float>(y));
  }

  /// The same numbers in memory whose first dimension varies fastest.
  static sy_tensor* transposed(const sy_call& call, std::vector<int64_t> shape, sy_dtype type,
                               const std::vector<float>& y) {
    auto* storage = new sy::tensor(sy::new_host_tensor(call, {static_cast<int64_t>(y.size())}, type));
    sy_view v = storage->view();
    std::vector<int64_t> strides(shape.size(), 1);
    for (std::size_t d = 1; d < shape.size(); ++d) strides[d] = strides[d - 1] * shape[d - 1];
    v.ndim = static_cast<int32_t>(shape.size());
    v.shape = shape.data();
    v.strides = strides.data();
    sy_tensor* t = nullptr;
    sy::check(sy::host()->tensor_wrap(
                  sy::host()->self, &v, storage, [](void* s) { delete static_cast<sy::tensor*>(s); }, &t, nullptr),
              "no tensor could be made");
    plain::write(v, std::span<const float>(y));
    return t;
  }

  std::string fault_;
  trigger when_;
  int64_t ms_, bytes_;
};

using table = sy::layer_table<Faulty>;

sy_rc escaping_forward(sy_layer* l, const sy_call* call, sy_saved** give, sy_error** err) {
  if (table::self(l).layer.escapes("forward", *call))
    throw std::runtime_error("faulty: an exception has left the plugin");
  return table::forward(l, call, give, err);
}
sy_rc escaping_backward(sy_layer* l, const sy_call* call, sy_saved* take, sy_error** err) {
  if (table::self(l).layer.escapes("backward", *call)) {
    table::free_saved(l, take);
    throw 42;
  }
  return table::backward(l, call, take, err);
}

constexpr sy_layer_api api = [] {
  sy_layer_api t = table::table;
  t.forward = escaping_forward;
  t.backward = escaping_backward;
  return t;
}();

}  // namespace

SY_PLUGIN_NOTE("layer-faulty");
static constexpr sy_export exports[] = {{SY_KIND_LAYER, &api}};
SY_DEFINE_PLUGIN("layer-faulty", "0.1.0", exports)
