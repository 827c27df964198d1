#include "rank.hpp"

#include <chrono>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

#include "switchyard/cpp/float16.hpp"

namespace comm_test {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

void expect(bool true_, const std::string& what) {
  if (!true_) throw std::runtime_error(what);
}

namespace {

constexpr auto patience = 60s;

template <class Ready>
void until(const std::string& what, Ready&& ready) {
  for (const auto end = Clock::now() + patience; !ready(); std::this_thread::sleep_for(2ms))
    expect(Clock::now() < end, what + ": nothing for a minute");
}

void write_whole(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path aside = path.string() + ".aside";
  std::ofstream(aside, std::ios::binary) << text;
  std::filesystem::rename(aside, path);
}

double as_double(const char* at, sy_dtype t) {
  const auto read = [&]<class T>(T) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  if (t.code == SY_INT) return t.bits == 64 ? static_cast<double>(read(int64_t{})) : read(int32_t{});
  if (t.code == SY_UINT) return read(uint8_t{});
  if (t.code == SY_BFLOAT) return sy::float16::from_bf16(read(uint16_t{}));
  if (t.bits == 16) return sy::float16::from_f16(read(uint16_t{}));
  return t.bits == 64 ? read(double{}) : static_cast<double>(read(float{}));
}

void from_double(char* at, sy_dtype t, double value) {
  const auto write = [&](auto v) { std::memcpy(at, &v, sizeof v); };
  if (t.code == SY_INT) return t.bits == 64 ? write(static_cast<int64_t>(value)) : write(static_cast<int32_t>(value));
  if (t.code == SY_UINT) return write(static_cast<uint8_t>(value));
  if (t.code == SY_BFLOAT) return write(sy::float16::to_bf16(static_cast<float>(value)));
  if (t.bits == 16) return write(sy::float16::to_f16(static_cast<float>(value)));
  return t.bits == 64 ? write(value) : write(static_cast<float>(value));
}

}  // namespace

Rank::Rank(Place place)
    : at_(std::move(place)),
      api_(fake::table<sy_comm_api>(fake::plugin("plugins/sy-comm-" + at_.comm + ".so"), SY_KIND_COMM, at_.comm)),
      backend_api_(
          fake::table<sy_backend_api>(fake::plugin("plugins/sy-backend-" + at_.backend + ".so"), SY_KIND_BACKEND)) {
  device_ = {backend_api_.device_type, at_.device};
  fake::must([&](sy_error** e) { return backend_api_.open(fake::host(), nullptr, &backend_, e); });
  fake::must([&](sy_error** e) { return backend_api_.enter(backend_, device_, &token_, e); });
  fake::must([&](sy_error** e) { return backend_api_.stream_new(backend_, device_, &stream_, e); });
}

Rank::~Rank() {
  backend_api_.stream_free(backend_, stream_);
  backend_api_.leave(backend_, token_);
  backend_api_.close(backend_);
}

void Rank::wait() const {
  fake::must([&](sy_error** e) { return backend_api_.stream_sync(backend_, stream_, e); });
}

std::string Rank::tell(const std::string& name, int from, const std::string& text) const {
  const std::filesystem::path path = at_.folder / name;
  if (at_.rank == from) write_whole(path, text);
  until("'" + name + "' from rank " + std::to_string(from), [&] { return std::filesystem::exists(path); });
  std::ostringstream read;
  read << std::ifstream(path, std::ios::binary).rdbuf();
  return read.str();
}

void Rank::meet(const std::string& name) const {
  for (int r = 0; r < at_.ranks; ++r) tell(name + "." + std::to_string(r), r, "");
}

sy_comm* Rank::begin_to_join(const std::string& name, int as_rank, int ranks) const {
  char made[4096];
  uint32_t bytes = 0;
  if (at_.rank == 0)
    fake::must([&](sy_error** e) { return api_.make_id(fake::host(), nullptr, made, sizeof made, &bytes, e); });
  const std::string id = tell(name + ".id", 0, std::string(made, bytes));
  sy_comm_join join{sizeof(sy_comm_join), static_cast<uint32_t>(id.size()), id.data(), as_rank, ranks, device_};
  sy_comm* comm = nullptr;
  const auto before = Clock::now();
  fake::must([&](sy_error** e) { return api_.open(fake::host(), nullptr, &join, &comm, e); });
  // The first one starts the library; waiting for somebody who never comes would take for ever.
  expect(Clock::now() - before < 30s, "open waited");
  return comm;
}

sy_comm* Rank::join(const std::string& name, int as_rank, int ranks) const {
  sy_comm* comm = begin_to_join(name, as_rank, ranks);
  until("joining '" + name + "'", [&] {
    sy_error* err = nullptr;
    const sy_rc rc = api_.status(comm, &err);
    const std::string text = fake::taken(err).second;
    expect(rc == SY_OK || rc == SY_E_AGAIN, "joining '" + name + "': code " + std::to_string(rc) + ", " + text);
    return rc == SY_OK;
  });
  return comm;
}

Memory::Memory(const Rank& rank, int64_t count, sy_dtype dtype) : rank_(rank), count_(count), dtype_(dtype) {
  const auto bytes = static_cast<uint64_t>(count) * dtype.bits / 8;
  fake::must([&](sy_error** e) {
    return rank.backend().alloc(rank.opened(), rank.device(), bytes > 0 ? bytes : 1, rank.stream(), &memory_, e);
  });
}

Memory::~Memory() { rank_.backend().free(rank_.opened(), rank_.device(), memory_, rank_.stream()); }

sy_view& Memory::part(int64_t first, int64_t count) {
  Part& p = *parts_.emplace_back(new Part{{count}, {1}, {}});
  p.view = {memory_, rank_.device(), 1, dtype_, p.shape, p.strides, static_cast<uint64_t>(first) * dtype_.bits / 8};
  return p.view;
}

void Memory::put(const std::vector<double>& values) {
  expect(static_cast<int64_t>(values.size()) == count_, "put: another count");
  const std::size_t size = dtype_.bits / 8;
  std::vector<char> raw(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) from_double(raw.data() + i * size, dtype_, values[i]);
  Part host{{count_}, {1}, {}};
  host.view = {raw.data(), {SY_DEVICE_CPU, 0}, 1, dtype_, host.shape, host.strides, 0};
  fake::must(
      [&](sy_error** e) { return rank_.backend().copy(rank_.opened(), &view(), &host.view, rank_.stream(), e); });
  rank_.wait();
}

std::vector<double> Memory::get() {
  const std::size_t size = dtype_.bits / 8;
  std::vector<char> raw(static_cast<std::size_t>(count_) * size);
  Part host{{count_}, {1}, {}};
  host.view = {raw.data(), {SY_DEVICE_CPU, 0}, 1, dtype_, host.shape, host.strides, 0};
  fake::must(
      [&](sy_error** e) { return rank_.backend().copy(rank_.opened(), &host.view, &view(), rank_.stream(), e); });
  rank_.wait();
  std::vector<double> values;
  for (std::size_t at = 0; at < raw.size(); at += size) values.push_back(as_double(raw.data() + at, dtype_));
  return values;
}

}  // namespace comm_test
