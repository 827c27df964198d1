// The cpu backend through its table.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "support/fake_host.hpp"

namespace {

constexpr sy_dtype f64{SY_FLOAT, 64, 1}, f32{SY_FLOAT, 32, 1}, f16{SY_FLOAT, 16, 1}, bf16{SY_BFLOAT, 16, 1};
constexpr sy_dtype i64{SY_INT, 64, 1}, boolean{SY_BOOL, 8, 1};

const sy_backend_api& api() {
  static const auto& table = fake::table<sy_backend_api>(fake::plugin("plugins/sy-backend-cpu.so"), SY_KIND_BACKEND);
  return table;
}

struct Backend {
  sy_backend* b = nullptr;
  Backend() {
    fake::must([&](sy_error** e) { return api().open(fake::host(), nullptr, &b, e); });
  }
  ~Backend() { api().close(b); }
};

struct View {
  std::vector<int64_t> shape, strides;
  sy_view v{};
  View(void* data, sy_dtype type, std::vector<int64_t> s, std::vector<int64_t> st = {}, uint64_t offset = 0)
      : shape(std::move(s)), strides(std::move(st)) {
    if (strides.empty() && !shape.empty()) {
      strides.assign(shape.size(), 1);
      for (std::size_t d = shape.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * shape[d + 1];
    }
    v = {data, {SY_DEVICE_CPU, 0}, static_cast<int32_t>(shape.size()), type, shape.data(), strides.data(), offset};
  }
  View(const View&) = delete;
};

template <class To, class From>
void cast(Backend& b, std::vector<To>& to, sy_dtype tt, std::vector<From>& from, sy_dtype ft) {
  const View a(to.data(), tt, {static_cast<int64_t>(to.size())}),
      c(from.data(), ft, {static_cast<int64_t>(from.size())});
  fake::must([&](sy_error** e) { return api().cast(b.b, &a.v, &c.v, nullptr, e); });
}

/// Nearest value of a format with `digits` bits of mantissa (hidden bit counted) and this least exponent; ties to even.
double nearest(double x, int digits, int least, double largest) {
  if (x == 0 || std::isinf(x)) return x;
  const int exponent = std::max(std::ilogb(x), least);
  const double unit = std::ldexp(1.0, exponent - digits + 1);
  const double rounded = std::nearbyint(x / unit) * unit;
  return std::fabs(rounded) > largest ? std::copysign(INFINITY, x) : rounded;
}

}  // namespace

TEST_CASE("any device can be asked for, and says what the machine has") {
  Backend b;
  sy_device_info info{};
  info.size = sizeof info;
  fake::must([&](sy_error** e) { return api().device(b.b, 7, &info, e); });
  CHECK(info.device.type == SY_DEVICE_CPU);
  CHECK(info.device.index == 7);
  CHECK((info.caps & SY_B_LOGICAL) != 0);
  CHECK(info.bytes_total >= info.bytes_free);
  CHECK(info.bytes_free > 0);
  CHECK(std::string(info.name) != "");
  CHECK(info.size == sizeof info);
}

TEST_CASE("a smaller info struct of an older caller is not written past its end") {
  Backend b;
  sy_device_info info{};
  info.size = offsetof(sy_device_info, bytes_free);
  info.bytes_free = 42;
  fake::must([&](sy_error** e) { return api().device(b.b, 0, &info, e); });
  CHECK(info.bytes_total > 0);
  CHECK(info.bytes_free == 42);
}

TEST_CASE("memory is aligned to 256 bytes, also that of no bytes") {
  Backend b;
  for (const uint64_t bytes : {0, 1, 255, 256, 257, 1 << 20}) {
    void *p = nullptr, *h = nullptr;
    fake::must([&](sy_error** e) { return api().alloc(b.b, {SY_DEVICE_CPU, 3}, bytes, nullptr, &p, e); });
    fake::must([&](sy_error** e) { return api().host_alloc(b.b, bytes, &h, e); });
    CHECK(p != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(p) % 256 == 0);
    CHECK(reinterpret_cast<uintptr_t>(h) % 256 == 0);
    api().free(b.b, {SY_DEVICE_CPU, 3}, p, nullptr);
    api().host_free(b.b, h);
  }
}

TEST_CASE("too much memory is a named error") {
  Backend b;
  for (const uint64_t bytes : {uint64_t{1} << 62, UINT64_MAX}) {
    void* p = nullptr;
    sy_error* e = nullptr;
    CHECK(api().alloc(b.b, {SY_DEVICE_CPU, 1}, bytes, nullptr, &p, &e) == SY_E_NO_MEMORY);
    CHECK(fake::taken(e).second.find("cpu:1") != std::string::npos);
    CHECK(p == nullptr);
  }
}

TEST_CASE("a device of another kind is refused") {
  Backend b;
  void* p = nullptr;
  CHECK(api().alloc(b.b, {SY_DEVICE_CUDA, 0}, 8, nullptr, &p, nullptr) == SY_E_ARGUMENT);
  CHECK(api().alloc(b.b, {SY_DEVICE_CPU, -1}, 8, nullptr, &p, nullptr) == SY_E_ARGUMENT);
}

TEST_CASE("timed events measure, others refuse") {
  Backend b;
  sy_event *from = nullptr, *to = nullptr, *untimed = nullptr;
  const sy_device d{SY_DEVICE_CPU, 0};
  fake::must([&](sy_error** e) { return api().event_new(b.b, d, 1, &from, e); });
  fake::must([&](sy_error** e) { return api().event_new(b.b, d, 1, &to, e); });
  fake::must([&](sy_error** e) { return api().event_new(b.b, d, 0, &untimed, e); });
  double s = -1;
  CHECK(api().event_seconds(b.b, from, to, &s, nullptr) == SY_E_STATE);
  api().event_record(b.b, from, nullptr, nullptr);
  api().event_record(b.b, to, nullptr, nullptr);
  fake::must([&](sy_error** e) { return api().event_seconds(b.b, from, to, &s, e); });
  CHECK(s >= 0);
  CHECK(s < 1);
  CHECK(api().event_seconds(b.b, from, untimed, &s, nullptr) == SY_E_ARGUMENT);
  CHECK(api().event_ready(b.b, to, nullptr) == SY_OK);
  for (sy_event* e : {from, to, untimed}) api().event_free(b.b, e);
}

TEST_CASE("copies take any strides") {
  Backend b;
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const int ndim = static_cast<int>(random() % 5);
    std::vector<int64_t> shape, order(static_cast<std::size_t>(ndim));
    for (int d = 0; d < ndim; ++d) shape.push_back(random() % 20 == 0 ? 0 : 1 + random() % 4);
    // Memory of 16 elements for each dimension, walked in a random order of axes, with gaps, some of them backwards.
    auto random_strides = [&](bool broadcast, int64_t& first) {
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      std::vector<int64_t> strides(shape.size());
      int64_t step = 1;
      first = 0;
      for (const int64_t d : order) {
        const auto at = static_cast<std::size_t>(d);
        strides[at] = step;
        step *= shape[at] * (1 + static_cast<int64_t>(random() % 2)) + (shape[at] == 0);
        if (broadcast && random() % 4 == 0) strides[at] = 0;
        if (random() % 4 == 0) {
          first += strides[at] * std::max<int64_t>(shape[at] - 1, 0);
          strides[at] = -strides[at];
        }
      }
      return strides;
    };
    int64_t first_to = 0, first_from = 0;
    const auto to_strides = random_strides(false, first_to), from_strides = random_strides(true, first_from);
    std::vector<int64_t> to(5000, -1), from(5000), expected;
    std::iota(from.begin(), from.end(), 100);
    expected = to;
    std::vector<int64_t> index(shape.size(), 0);
    int64_t elements = 1;
    for (const int64_t s : shape) elements *= s;
    for (int64_t n = 0; n < elements; ++n) {
      int64_t rest = n, t = first_to, f = first_from;
      for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
        t += rest % shape[d] * to_strides[d];
        f += rest % shape[d] * from_strides[d];
      }
      expected[static_cast<std::size_t>(t)] = from[static_cast<std::size_t>(f)];
    }
    const View a(to.data(), i64, shape, to_strides, static_cast<uint64_t>(first_to) * 8);
    const View c(from.data(), i64, shape, from_strides, static_cast<uint64_t>(first_from) * 8);
    fake::must([&](sy_error** e) { return api().copy(b.b, &a.v, &c.v, nullptr, e); });
    CHECK(to == expected);
  }
}

TEST_CASE("copies take every element size") {
  Backend b;
  auto transposed = [&](auto zero, sy_dtype type) {
    using T = decltype(zero);
    std::vector<T> from(12), to(12);
    for (std::size_t i = 0; i < 12; ++i) from[i] = static_cast<T>(i % 2 + (type.code == SY_BOOL ? 0 : i));
    const View a(to.data(), type, {3, 4}), c(from.data(), type, {3, 4}, {1, 3});
    fake::must([&](sy_error** e) { return api().copy(b.b, &a.v, &c.v, nullptr, e); });
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 4; ++j) CHECK(to[i * 4 + j] == from[j * 3 + i]);
  };
  transposed(uint8_t{}, boolean);
  transposed(uint16_t{}, bf16);
  transposed(float{}, f32);
  transposed(double{}, f64);
  transposed(int64_t{}, i64);
}

TEST_CASE("copies of other shapes or types are refused with both") {
  Backend b;
  std::vector<float> x(6);
  const View a(x.data(), f32, {2, 3}), c(x.data(), f32, {3, 2}), d(x.data(), sy_dtype{SY_INT, 32, 1}, {2, 3});
  sy_error* e = nullptr;
  CHECK(api().copy(b.b, &a.v, &c.v, nullptr, &e) == SY_E_ARGUMENT);
  const std::string text = fake::taken(e).second;
  CHECK(text.find("[2, 3]") != std::string::npos);
  CHECK(text.find("[3, 2]") != std::string::npos);
  CHECK(api().copy(b.b, &a.v, &d.v, nullptr, nullptr) == SY_E_ARGUMENT);
}

TEST_CASE("casts round once, to nearest even") {
  Backend b;
  std::mt19937_64 random(2);
  std::vector<double> from{0.0,
                           -0.0,
                           1.0,
                           65504,
                           65519.99,
                           65520,
                           65536,
                           1e300,
                           -1e300,
                           0x1p-24,
                           0x1p-25,
                           0x1.8p-25,
                           0x1p-14,
                           INFINITY,
                           -INFINITY,
                           1 + 0x1p-11,
                           1 + 0x1p-11 + 0x1p-40,
                           1 + 0x1p-8,
                           1 + 0x1p-8 + 0x1p-50,
                           1e-300};
  for (int i = 0; i < 20000; ++i)
    from.push_back(
        std::ldexp(static_cast<double>(static_cast<int64_t>(random())), static_cast<int>(random() % 60) - 95));
  const std::size_t n = from.size();
  std::vector<uint16_t> half(n), brain(n);
  std::vector<float> single(n), from_half(n), from_brain(n);
  cast(b, half, f16, from, f64);
  cast(b, brain, bf16, from, f64);
  cast(b, single, f32, from, f64);
  cast(b, from_half, f32, half, f16);
  cast(b, from_brain, f32, brain, bf16);
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(static_cast<double>(from_half[i]) == nearest(from[i], 11, -14, 65504));
    CHECK(static_cast<double>(from_brain[i]) == nearest(from[i], 8, -126, 0x1.FEp127));
    CHECK(std::signbit(from_half[i]) == std::signbit(from[i]));
  }
  std::vector<uint16_t> half32(n), brain32(n);
  cast(b, half32, f16, single, f32);
  cast(b, brain32, bf16, single, f32);
  cast(b, from_half, f32, half32, f16);
  cast(b, from_brain, f32, brain32, bf16);
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(static_cast<double>(from_half[i]) == nearest(single[i], 11, -14, 65504));
    CHECK(static_cast<double>(from_brain[i]) == nearest(single[i], 8, -126, 0x1.FEp127));
  }
}

TEST_CASE("every 16-bit pattern survives the way to fp32 and back, NaN as a NaN") {
  Backend b;
  for (const sy_dtype type : {f16, bf16}) {
    std::vector<uint16_t> all(65536), back(65536);
    std::iota(all.begin(), all.end(), uint16_t{0});
    std::vector<float> wide(65536);
    cast(b, wide, f32, all, type);
    cast(b, back, type, wide, f32);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (std::isnan(wide[i])) CHECK((back[i] & 0x8000) == (all[i] & 0x8000));
      if (!std::isnan(wide[i])) CHECK(back[i] == all[i]);
    }
    cast(b, wide, f32, back, type);
    const uint32_t infinity = type.code == SY_BFLOAT ? 0x7F80 : 0x7C00;
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(std::isnan(wide[i]) == ((all[i] & 0x7FFFu) > infinity));
  }
}

TEST_CASE("accumulate adds in fp32 and rounds once to the sum's type") {
  Backend b;
  std::vector<float> sum{1.0f, 1e8f, -3.0f}, more{2.0f, 1.0f, 0.5f};
  const View a(sum.data(), f32, {3}), c(more.data(), f32, {3});
  fake::must([&](sy_error** e) { return api().accumulate(b.b, &a.v, &c.v, nullptr, e); });
  CHECK(sum == std::vector<float>{3.0f, 1e8f, -2.5f});
  // bf16 1 + fp32 2^-8 is half a unit: ties to even gives 1; a little more gives 1 + 2^-7.
  std::vector<uint16_t> brain{0x3F80, 0x3F80};
  std::vector<float> tiny{0x1p-8f, 0x1.01p-8f};
  const View d(brain.data(), bf16, {2}), t(tiny.data(), f32, {2});
  fake::must([&](sy_error** e) { return api().accumulate(b.b, &d.v, &t.v, nullptr, e); });
  CHECK(brain == std::vector<uint16_t>{0x3F80, 0x3F81});
  std::vector<float> wide{1.0f, 1.0f};
  const View w(wide.data(), f32, {2});
  fake::must([&](sy_error** e) { return api().accumulate(b.b, &w.v, &d.v, nullptr, e); });
  CHECK(wide == std::vector<float>{2.0f, 2.0f + 0x1p-7f});
}

TEST_CASE("casts and sums of integers, and strided ones, are refused") {
  Backend b;
  std::vector<int64_t> ids(4);
  std::vector<float> x(4);
  const View a(ids.data(), i64, {4}), c(x.data(), f32, {4}), s(x.data(), f32, {2}, {2}), two(x.data(), f32, {2});
  CHECK(api().cast(b.b, &c.v, &a.v, nullptr, nullptr) == SY_E_ARGUMENT);
  CHECK(api().accumulate(b.b, &a.v, &a.v, nullptr, nullptr) == SY_E_ARGUMENT);
  CHECK(api().cast(b.b, &two.v, &s.v, nullptr, nullptr) == SY_E_ARGUMENT);
}

TEST_CASE("fill_zero fills the view and nothing else; empty and scalar views work") {
  Backend b;
  std::vector<int64_t> x(6, 5);
  const View middle(x.data(), i64, {2, 2}, {}, 8), none(nullptr, i64, {0, 3}), scalar(x.data(), i64, {});
  fake::must([&](sy_error** e) { return api().fill_zero(b.b, &middle.v, nullptr, e); });
  CHECK(x == std::vector<int64_t>{5, 0, 0, 0, 0, 5});
  fake::must([&](sy_error** e) { return api().fill_zero(b.b, &none.v, nullptr, e); });
  fake::must([&](sy_error** e) { return api().copy(b.b, &none.v, &none.v, nullptr, e); });
  fake::must([&](sy_error** e) { return api().fill_zero(b.b, &scalar.v, nullptr, e); });
  CHECK(x[0] == 0);
}

TEST_CASE("a step is decided: norm, clip factor, skip, and how many counted") {
  const std::vector<double> squares = {4, 1e-30, 12, 1e30};
  std::vector<int32_t> order = {2, 0, 1};
  std::vector<float> losses = {1.5f, 7, 2.5f, 7};
  sy_outcome outcome{};
  sy_opt_control control{};
  sy_decide d{};
  d.size = sizeof d, d.flags = SY_DECIDE_COUNTS, d.n_squares = 3, d.n_losses = 2;
  d.device = {SY_DEVICE_CPU, 0};
  d.squares = squares.data(), d.order = order.data(), d.losses = losses.data();
  d.lr = 0.25, d.loss_scale = 2, d.clip_norm = 0.5, d.outcome = &outcome, d.control = &control;
  const Backend b;
  const auto decide = [&] { fake::must([&](sy_error** e) { return api().decide(b.b, &d, nullptr, e); }); };
  CHECK((api().caps & SY_B_DECIDES) != 0);

  decide();
  CHECK(outcome.grad_norm == 2);  // of 12 + 4 + 1e-30, over the loss scale
  CHECK(outcome.loss_sum == 4);
  CHECK(outcome.skipped == 0);
  CHECK(outcome.applied == 1);
  CHECK(control.lr == 0.25);
  CHECK(control.inv_scale == 0.5);
  CHECK(control.clip_factor == 0.5 / (2 + 1e-6));
  CHECK(control.skip == 0);
  CHECK(control.step == 1);

  d.clip_norm = 3;
  decide();
  CHECK(control.clip_factor == 1);
  CHECK(control.step == 2);
  d.clip_norm = 0;
  d.flags = 0;  // only asked
  decide();
  CHECK(control.clip_factor == 1);
  CHECK(outcome.applied == 2);

  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    d.flags = SY_DECIDE_COUNTS;
    losses[2] = bad;
    decide();
    CHECK(control.skip != 0);
    CHECK(outcome.skipped == 1);
    CHECK(outcome.applied == 2);
    CHECK(outcome.held == 0);
    losses[2] = 2.5f;
    decide();
    CHECK(control.skip == 0);
    outcome.applied = 2;
  }

  const std::vector<double> wild = {4, 1e-30, std::numeric_limits<double>::infinity()};
  d.squares = wild.data();
  d.flags = SY_DECIDE_COUNTS | SY_DECIDE_HOLDS;
  decide();
  CHECK(control.skip != 0);
  CHECK(outcome.held == 1);
  d.squares = squares.data();
  decide();  // finite, but held
  CHECK(control.skip != 0);
  CHECK(outcome.grad_norm == 2);
  CHECK(outcome.applied == 2);
  outcome.held = 0;
  decide();
  CHECK(control.skip == 0);
  CHECK(outcome.applied == 3);
}
