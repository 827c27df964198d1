#include "train/compare.hpp"

#include <doctest/doctest.h>

#include "small_models.hpp"
#include "switchyard/cpp/plugin.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

Comparison compare_file(const std::string& path, const std::vector<std::string>& sets, std::int64_t steps) {
  return compare(load_config(path, sets), registry(), steps);
}

/// The identity, but for one element that depends on the device: what no layer may do.
struct Drift {
  static constexpr const char* id = "test_drift";
  static constexpr const char* help = "adds the device's number to element 5 of its gradient";
  struct saved {
    std::vector<int64_t> shape;
  };
  explicit Drift(const sy::config&) {}
  std::vector<sy::port> infer(uint32_t, sy::ports in) { return {sy::like(*in[0])}; }
  sy::cost cost(uint32_t, sy::const_ports) const { return {}; }
  static sy_tensor* copy(const sy_call& call, const sy_view& from, float add) {
    sy::tensor to = sy::new_host_tensor(call, {from.shape, from.shape + from.ndim}, sy::f32);
    const float* x = sy::data<float>(from);
    for (int64_t i = 0; i < sy::count(from); ++i) to.data<float>()[i] = x[i] + (i == 5 ? add : 0.0f);
    return std::move(to).give();
  }
  saved forward(const sy_call& call) {
    call.out[0] = copy(call, *sy::host()->tensor_view(call.in[0]), 0);
    return {};
  }
  void backward(const sy_call& call, saved&&) {
    if (call.step < 2 || !call.in[0])
      call.out[0] = call.in[0] ? copy(call, *sy::host()->tensor_view(call.in[0]), 0) : nullptr;
    else
      call.out[0] = copy(call, *sy::host()->tensor_view(call.in[0]), static_cast<float>(call.device.index));
  }
};

constexpr sy_export exports[] = {sy::export_layer<Drift>()};
constexpr sy_plugin drift_plugin{
    SY_PLUGIN_MAGIC, sizeof(sy_plugin), SY_ABI_MAJOR, SY_ABI_MINOR, "test-drift", "1", exports, 1, 0, sy::attach};

}  // namespace

TEST_CASE("a plan equals one device, with data and without, and says so") {
  const Workshop shop;
  for (const std::string& path : {shop.text(), shop.table()}) {
    const Comparison result = compare_file(path, other_plan, 3);
    CHECK(result.equal());
    CHECK(result.steps == 3);
    CHECK(result.numbers > 100);
    CHECK(result.devices == "cpu:0, cpu:1, cpu:2");
    CHECK(result.one_device == "cpu:0");
  }
  write_file(shop / "bare.toml", text_layers() + "[devices]\nuse=['cpu:0','cpu:1']\nthreads=1\n[train]\nbatch=2\n");
  CHECK(compare_file(shop / "bare.toml", {}, 1).equal());
}

TEST_CASE("in bf16 and fp16 too") {
  const Workshop shop;
  for (const char* type : {"bf16", "fp16"})
    for (const std::string& path : {shop.text(), shop.table()}) {
      std::vector<std::string> sets = other_plan;
      sets.push_back(std::string("precision.type=") + type);
      CHECK(comparison_text(compare_file(path, sets, 2)).starts_with("2 steps equal one device"));
    }
}

TEST_CASE("the first difference is named: step, parameter, element, both values") {
  registry().add(&drift_plugin);
  const Workshop shop;
  std::string text = read_file(shop.table());
  text.insert(text.find("[[layer]]\ntype = \"plain_tanh\""), "[[layer]]\ntype = 'test_drift'\nname = 'drift'\n");
  write_file(shop / "drift.toml", text);
  // one, bn on cpu:0; drift, tanh, two, loss on cpu:1.
  const Comparison result = compare_file(shop / "drift.toml", {"placement.contiguous.cuts=['drift']"}, 3);
  REQUIRE(!result.equal());
  CHECK(result.steps == 2);
  CHECK(result.difference->step == 2);
  CHECK(result.difference->what == "gradient");
  CHECK(result.difference->name == "one.weight");
  CHECK(result.difference->plan != result.difference->one_device);
  CHECK(contains(comparison_text(result), "step 2: gradient of 'one.weight', element "));
  CHECK(contains(comparison_text(result), " on cpu:0, cpu:1, "));
  CHECK(contains(comparison_json(result), R"("difference":{"step":2,"what":"gradient","name":"one.weight")"));
}

TEST_CASE("what is compared is training: without [train] it is refused") {
  const Workshop shop;
  write_file(shop / "bare.toml", text_layers());
  CHECK(contains(failure([&] { compare_file(shop / "bare.toml", {}, 1); }), "[train] is missing"));
}
