// The cuda backend through its table, and what it leaves alone.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "support/fake_host.hpp"

namespace {

constexpr sy_dtype f64{SY_FLOAT, 64, 1}, f32{SY_FLOAT, 32, 1}, f16{SY_FLOAT, 16, 1}, bf16{SY_BFLOAT, 16, 1};
constexpr sy_device gpu{SY_DEVICE_CUDA, 0}, cpu{SY_DEVICE_CPU, 0};

const sy_backend_api& api() {
  static const auto& table = fake::table<sy_backend_api>(fake::plugin("plugins/sy-backend-cuda.so"), SY_KIND_BACKEND);
  return table;
}
const sy_backend_api& on_cpu() {
  static const auto& table = fake::table<sy_backend_api>(fake::plugin("plugins/sy-backend-cpu.so"), SY_KIND_BACKEND);
  return table;
}

bool skipped() {
  int n = 0;
  if (cudaGetDeviceCount(&n) == cudaSuccess && n > 0) return false;
  std::printf("[skipped] no GPU\n");
  return true;
}

template <class Body>
void must(Body&& body) {
  fake::must(body);
}

struct Backend {
  sy_backend* b = nullptr;
  sy_stream* stream = nullptr;
  Backend() {
    must([&](sy_error** e) { return api().open(fake::host(), nullptr, &b, e); });
    must([&](sy_error** e) { return api().stream_new(b, gpu, &stream, e); });
  }
  ~Backend() {
    api().stream_free(b, stream);
    api().close(b);
  }
  Backend(const Backend&) = delete;
  void wait() {
    must([&](sy_error** e) { return api().stream_sync(b, stream, e); });
  }
  void copy(const sy_view& to, const sy_view& from) {
    must([&](sy_error** e) { return api().copy(b, &to, &from, stream, e); });
  }
};

struct View {
  std::vector<int64_t> shape, strides;
  sy_view v{};
  View(void* data, sy_device device, sy_dtype type, std::vector<int64_t> s, std::vector<int64_t> st = {},
       uint64_t offset = 0)
      : shape(std::move(s)), strides(std::move(st)) {
    if (strides.empty() && !shape.empty()) {
      strides.assign(shape.size(), 1);
      for (std::size_t d = shape.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * shape[d + 1];
    }
    v = {data, device, static_cast<int32_t>(shape.size()), type, shape.data(), strides.data(), offset};
  }
  View(const View&) = delete;
};

struct Memory {
  Backend& b;
  void* data = nullptr;
  Memory(Backend& backend, uint64_t bytes) : b(backend) {
    must([&](sy_error** e) { return api().alloc(b.b, gpu, bytes, b.stream, &data, e); });
  }
  ~Memory() { api().free(b.b, gpu, data, b.stream); }
  Memory(const Memory&) = delete;
};

template <class T>
std::vector<T> read(Backend& b, const Memory& m, sy_dtype type, std::size_t count) {
  std::vector<T> host(count);
  const auto n = static_cast<int64_t>(count);
  b.copy(View(host.data(), cpu, type, {n}).v, View(m.data, gpu, type, {n}).v);
  b.wait();
  return host;
}
template <class T>
void write(Backend& b, const Memory& m, sy_dtype type, std::vector<T>& from) {
  const auto n = static_cast<int64_t>(from.size());
  b.copy(View(m.data, gpu, type, {n}).v, View(from.data(), cpu, type, {n}).v);
  b.wait();
}

/// The bits of numbers of every kind: zeros, subnormals, ties, huge ones, infinities; no NaN.
template <class T>
std::vector<T> numbers(sy_dtype type) {
  std::vector<double> values = {0.0,         -0.0,    1.0,     1.0009765625, 1.00048828125, 1.00390625,
                                1.001953125, 65519.0, 65520.0, 1e-8,         3e-40,         5.9604e-08,
                                2.98023e-08, 3.4e38,  -3.4e38, INFINITY,     -INFINITY};
  std::mt19937 random(3);
  for (int i = 0; i < 5000; ++i)
    values.push_back(
        std::ldexp(std::uniform_real_distribution<double>(-2, 2)(random), static_cast<int>(random() % 60) - 40));
  std::vector<T> bits(values.size());
  sy_backend* backend = nullptr;
  must([&](sy_error** e) { return on_cpu().open(fake::host(), nullptr, &backend, e); });
  const auto n = static_cast<int64_t>(values.size());
  const View to(bits.data(), cpu, type, {n}), from(values.data(), cpu, f64, {n});
  must([&](sy_error** e) { return on_cpu().cast(backend, &to.v, &from.v, nullptr, e); });
  on_cpu().close(backend);
  return bits;
}

/// cast (or accumulate) on the GPU gives the CPU's bits.
template <class To, class From>
void same_as_cpu(Backend& b, sy_dtype to_type, sy_dtype from_type) {
  std::vector<From> from = numbers<From>(from_type);
  std::vector<To> to = numbers<To>(to_type);
  std::reverse(to.begin(), to.end());
  const auto n = static_cast<int64_t>(from.size());
  const Memory there(b, to.size() * sizeof(To)), source(b, from.size() * sizeof(From));
  const View a(there.data, gpu, to_type, {n}), c(source.data, gpu, from_type, {n});
  const View ha(to.data(), cpu, to_type, {n}), hc(from.data(), cpu, from_type, {n});
  for (const bool adds : {true, false}) {
    write(b, there, to_type, to);
    write(b, source, from_type, from);
    must([&](sy_error** e) { return (adds ? api().accumulate : api().cast)(b.b, &a.v, &c.v, b.stream, e); });
    must([&](sy_error** e) { return (adds ? on_cpu().accumulate : on_cpu().cast)(nullptr, &ha.v, &hc.v, nullptr, e); });
    const std::vector<To> got = read<To>(b, there, to_type, to.size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < to.size(); ++i) different += std::memcmp(&got[i], &to[i], sizeof(To)) != 0;
    CHECK(different <= (adds ? 2 : 0));  // infinity minus infinity is a NaN on both sides, of other bits
  }
}

}  // namespace

TEST_CASE("without a GPU the backend says what is missing") {
  int n = 0;
  if (cudaGetDeviceCount(&n) == cudaSuccess && n > 0) return;
  sy_backend* b = nullptr;
  sy_error* err = nullptr;
  CHECK(api().open(fake::host(), nullptr, &b, &err) == SY_E_UNAVAILABLE);
  const std::string text = fake::taken(err).second;
  CAPTURE(text);
  const bool clear =
      text.find("no NVIDIA driver is installed") != text.npos || text.find("CUDA_VISIBLE_DEVICES") != text.npos;
  CHECK(clear);
}

TEST_CASE("loading and opening start no context") {
  if (skipped()) return;
  int active = 0;
  unsigned flags = 0;
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  REQUIRE(cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", &found, 13000, cudaEnableDefault, &result) ==
          cudaSuccess);
  const auto state = reinterpret_cast<CUresult (*)(CUdevice, unsigned*, int*)>(found);
  sy_backend* b = nullptr;
  must([&](sy_error** e) { return api().open(fake::host(), nullptr, &b, e); });
  REQUIRE(state(0, &flags, &active) == CUDA_SUCCESS);
  CHECK(active == 0);
  uint64_t token = 0;
  must([&](sy_error** e) { return api().enter(b, gpu, &token, e); });
  REQUIRE(state(0, &flags, &active) == CUDA_SUCCESS);
  CHECK(active != 0);
  api().leave(b, token);
  api().close(b);
}

TEST_CASE("a device tells its name, bus, uuid and bytes; the list ends") {
  if (skipped()) return;
  Backend b;
  sy_device_info info{};
  info.size = sizeof info;
  must([&](sy_error** e) { return api().device(b.b, 0, &info, e); });
  std::printf("%s, %s, %s, %.1f of %.1f GiB free, %.1f TFLOP/s in fp32\n", info.name, info.bus_id, info.uuid,
              info.bytes_free / 1073741824.0, info.bytes_total / 1073741824.0, info.flops / 1e12);
  CHECK(std::string(info.name) != "");
  CHECK(std::string(info.bus_id).find(':') != std::string::npos);
  CHECK(std::string(info.uuid).size() == 40);
  CHECK(info.bytes_free > 0);
  CHECK(info.bytes_total >= info.bytes_free);
  CHECK(info.flops > 1e12);
  CHECK((info.caps & SY_B_LOGICAL) == 0);
  sy_error* err = nullptr;
  CHECK(api().device(b.b, 4096, &info, &err) == SY_E_RANGE);
  CHECK(err == nullptr);
  uint64_t token = 0;
  CHECK(api().enter(b.b, {SY_DEVICE_CUDA, 77}, &token, &err) == SY_E_ARGUMENT);
  CHECK(fake::taken(err).second.find("cuda:77 is not there") == 0);
}

TEST_CASE("out of memory tells asked, free and total, and harms nothing") {
  if (skipped()) return;
  Backend b;
  void* memory = nullptr;
  sy_error* err = nullptr;
  CHECK(api().alloc(b.b, gpu, uint64_t{1} << 45, b.stream, &memory, &err) == SY_E_NO_MEMORY);
  const std::string text = fake::taken(err).second;
  CHECK(text.find("out of memory on cuda:0: asked for 35184372088832 bytes, ") == 0);
  CHECK(text.find(" are free") != std::string::npos);
  const Memory fits(b, 1024);
  CHECK(reinterpret_cast<uintptr_t>(fits.data) % 256 == 0);
}

TEST_CASE("copies of any strides, between the device and the host") {
  if (skipped()) return;
  Backend b;
  std::vector<float> host(60);
  std::iota(host.begin(), host.end(), 0.0f);
  const Memory plain(b, 240), other(b, 240);
  write(b, plain, f32, host);
  // transposed on the device
  b.copy(View(other.data, gpu, f32, {4, 3, 5}).v, View(plain.data, gpu, f32, {4, 3, 5}, {1, 4, 12}).v);
  std::vector<float> got = read<float>(b, other, f32, 60);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 5; ++k) CHECK(got[static_cast<std::size_t>(i * 15 + j * 5 + k)] == i + 4 * j + 12 * k);
  // a strided part of the device to the host, and a strided part of the host to the device
  std::vector<float> part(10, -1);
  b.copy(View(part.data(), cpu, f32, {5}, {2}).v, View(plain.data, gpu, f32, {5}, {12}, 4).v);
  CHECK(part == std::vector<float>{1, -1, 13, -1, 25, -1, 37, -1, 49, -1});
  b.copy(View(other.data, gpu, f32, {3}, {-2}, 16).v, View(host.data(), cpu, f32, {3}, {20}).v);
  got = read<float>(b, other, f32, 5);
  CHECK(got[4] == 0);
  CHECK(got[2] == 20);
  CHECK(got[0] == 40);
  // bytes, broadcast
  std::vector<uint8_t> byte = {7};
  const Memory bytes(b, 100);
  b.copy(View(bytes.data, gpu, {SY_UINT, 8, 1}, {100}).v, View(byte.data(), cpu, {SY_UINT, 8, 1}, {100}, {0}).v);
  CHECK(read<uint8_t>(b, bytes, {SY_UINT, 8, 1}, 100) == std::vector<uint8_t>(100, 7));
}

TEST_CASE("cast and accumulate give the CPU's bits") {
  if (skipped()) return;
  Backend b;
  same_as_cpu<float, float>(b, f32, f32);
  same_as_cpu<float, double>(b, f32, f64);
  same_as_cpu<float, uint16_t>(b, f32, bf16);
  same_as_cpu<float, uint16_t>(b, f32, f16);
  same_as_cpu<uint16_t, float>(b, bf16, f32);
  same_as_cpu<uint16_t, float>(b, f16, f32);
  same_as_cpu<uint16_t, double>(b, bf16, f64);
  same_as_cpu<uint16_t, double>(b, f16, f64);
  same_as_cpu<uint16_t, uint16_t>(b, bf16, bf16);
  same_as_cpu<uint16_t, uint16_t>(b, f16, bf16);
  same_as_cpu<double, float>(b, f64, f32);
}

TEST_CASE("events order streams, tell when they are ready, and measure time") {
  if (skipped()) return;
  Backend b;
  sy_stream* second = nullptr;
  sy_event *from = nullptr, *to = nullptr;
  must([&](sy_error** e) { return api().stream_new(b.b, gpu, &second, e); });
  must([&](sy_error** e) { return api().event_new(b.b, gpu, 1, &from, e); });
  must([&](sy_error** e) { return api().event_new(b.b, gpu, 1, &to, e); });
  const uint64_t size = uint64_t{1} << 30;
  const Memory big(b, size), copy(b, size);
  const View a(big.data, gpu, f32, {int64_t(size / 4)}), c(copy.data, gpu, f32, {int64_t(size / 4)});
  must([&](sy_error** e) { return api().event_record(b.b, from, b.stream, e); });
  for (int i = 0; i < 20; ++i) b.copy(c.v, a.v);
  must([&](sy_error** e) { return api().fill_zero(b.b, &a.v, b.stream, e); });
  must([&](sy_error** e) { return api().event_record(b.b, to, b.stream, e); });
  CHECK(api().event_ready(b.b, to, nullptr) == SY_E_AGAIN);
  must([&](sy_error** e) { return api().stream_wait(b.b, second, to, e); });
  std::vector<float> host(1024, 1);
  const View h(host.data(), cpu, f32, {1024}), start(big.data, gpu, f32, {1024});
  must([&](sy_error** e) { return api().copy(b.b, &h.v, &start.v, second, e); });
  must([&](sy_error** e) { return api().stream_sync(b.b, second, e); });
  CHECK(host == std::vector<float>(1024, 0));
  CHECK(api().event_ready(b.b, to, nullptr) == SY_OK);
  double seconds = 0;
  must([&](sy_error** e) { return api().event_seconds(b.b, from, to, &seconds, e); });
  std::printf("copies on the device: %.0f GB/s read and written\n", 41e-9 * static_cast<double>(size) / seconds);
  CHECK(seconds > 0);
  api().event_free(b.b, from);
  api().event_free(b.b, to);
  api().stream_free(b.b, second);
}

TEST_CASE("a captured graph does its work again") {
  if (skipped()) return;
  Backend b;
  std::vector<float> one(256, 1), zero(256, 0);
  const Memory sum(b, 1024), more(b, 1024);
  write(b, sum, f32, zero);
  write(b, more, f32, one);
  const View s(sum.data, gpu, f32, {256}), m(more.data, gpu, f32, {256});
  sy_graph* graph = nullptr;
  must([&](sy_error** e) { return api().capture_begin(b.b, b.stream, e); });
  must([&](sy_error** e) { return api().accumulate(b.b, &s.v, &m.v, b.stream, e); });
  must([&](sy_error** e) { return api().capture_end(b.b, b.stream, &graph, e); });
  for (int i = 0; i < 3; ++i) must([&](sy_error** e) { return api().graph_launch(b.b, graph, b.stream, e); });
  CHECK(read<float>(b, sum, f32, 256) == std::vector<float>(256, 3));
  api().graph_free(b.b, graph);
}

TEST_CASE("pinned host memory") {
  if (skipped()) return;
  Backend b;
  void* memory = nullptr;
  must([&](sy_error** e) { return api().host_alloc(b.b, 4096, &memory, e); });
  cudaPointerAttributes attributes{};
  REQUIRE(cudaPointerGetAttributes(&attributes, memory) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeHost);
  api().host_free(b.b, memory);
}

TEST_CASE("copies between GPUs arrive") {
  int n = 0;
  if (skipped()) return;
  if (cudaGetDeviceCount(&n) != cudaSuccess || n < 2) {
    std::printf("[skipped] one GPU\n");
    return;
  }
  Backend b;
  const sy_device second{SY_DEVICE_CUDA, 1};
  sy_stream* stream = nullptr;
  must([&](sy_error** e) { return api().stream_new(b.b, second, &stream, e); });
  std::vector<float> host(100000), got(100000);
  std::iota(host.begin(), host.end(), 0.0f);
  const Memory from(b, 400000);
  write(b, from, f32, host);
  void* to = nullptr;
  must([&](sy_error** e) { return api().alloc(b.b, second, 400000, stream, &to, e); });
  const View t(to, second, f32, {100000}), f(from.data, gpu, f32, {100000}), h(got.data(), cpu, f32, {100000});
  must([&](sy_error** e) { return api().copy(b.b, &t.v, &f.v, stream, e); });
  must([&](sy_error** e) { return api().copy(b.b, &h.v, &t.v, stream, e); });
  must([&](sy_error** e) { return api().stream_sync(b.b, stream, e); });
  CHECK(got == host);
  int current = -1;
  CHECK(cudaGetDevice(&current) == cudaSuccess);
  CHECK(current == 0);
  api().free(b.b, second, to, stream);
  api().stream_free(b.b, stream);
}

TEST_CASE("a step is decided as on the CPU, bit for bit") {
  if (skipped()) return;
  Backend b;
  std::mt19937 random(7);
  constexpr int n = 3001, micro_batches = 16;
  std::vector<double> squares(n);
  std::vector<int32_t> order(n);
  std::vector<float> losses(2 * micro_batches);
  for (double& s : squares)
    s = std::ldexp(std::uniform_real_distribution<double>(0, 1)(random), static_cast<int>(random() % 40) - 20);
  for (float& l : losses) l = std::uniform_real_distribution<float>(0, 50)(random);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  const Memory on_squares(b, n * 8), on_order(b, n * 4), on_losses(b, losses.size() * 4),
      on_outcome(b, sizeof(sy_outcome)), on_control(b, sizeof(sy_opt_control));
  constexpr sy_dtype i32{SY_INT, 32, 1}, u8{SY_UINT, 8, 1};
  sy_outcome outcome{};
  sy_opt_control control{};
  outcome.applied = 41;
  std::vector<uint8_t> raw(sizeof outcome);
  std::memcpy(raw.data(), &outcome, sizeof outcome);
  write(b, on_outcome, u8, raw);
  write(b, on_order, i32, order);
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double wild : {1.0, infinity, std::nan(""), 1.0}) {
    CAPTURE(wild);
    squares[17] = wild;
    write(b, on_squares, f64, squares);
    write(b, on_losses, f32, losses);
    sy_decide here{};
    here.size = sizeof here, here.flags = SY_DECIDE_COUNTS, here.n_squares = n, here.n_losses = micro_batches;
    here.device = cpu;
    here.squares = squares.data(), here.order = order.data(), here.losses = losses.data();
    here.lr = 3e-4, here.loss_scale = 1024, here.clip_norm = 1, here.outcome = &outcome, here.control = &control;
    sy_decide there = here;
    there.device = gpu;
    there.squares = static_cast<const double*>(on_squares.data),
    there.order = static_cast<const int32_t*>(on_order.data);
    there.losses = static_cast<const float*>(on_losses.data);
    there.outcome = static_cast<sy_outcome*>(on_outcome.data),
    there.control = static_cast<sy_opt_control*>(on_control.data);
    must([&](sy_error** e) { return on_cpu().decide(nullptr, &here, nullptr, e); });
    must([&](sy_error** e) { return api().decide(b.b, &there, b.stream, e); });
    const auto got_outcome = read<uint8_t>(b, on_outcome, u8, sizeof outcome);
    const auto got_control = read<uint8_t>(b, on_control, u8, sizeof control);
    sy_outcome o;
    std::memcpy(&o, got_outcome.data(), sizeof o);
    CHECK(o.applied == outcome.applied);
    CHECK(o.skipped == outcome.skipped);
    CHECK((std::memcmp(&o.grad_norm, &outcome.grad_norm, 8) == 0 || std::isnan(wild)));
    CHECK(o.loss_sum == outcome.loss_sum);
    CHECK(std::memcmp(got_control.data(), &control, sizeof control) == 0);
  }
}
