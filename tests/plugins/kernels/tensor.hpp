// Tensors of any type on the host, and the lanes that kernels run on.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kernels/lane.hpp"
#include "switchyard/cpp/float16.hpp"
#include "switchyard/cpp/plugin.hpp"

namespace kernels {

using namespace sy::kernels;

/// `count` elements; none: a NULL for the kernel.
class Tensor {
 public:
  Tensor() = default;
  Tensor(sy_dtype type, int64_t count) : type(type), count(count), words_(static_cast<std::size_t>(count) + 2) {}
  double at(int64_t i) const {
    const char* from = bytes() + i * (type.bits / 8);
    if (type.bits == 64) return read<double>(from);
    if (type.bits == 32) return read<float>(from);
    return type.code == SY_BFLOAT ? sy::float16::from_bf16(read<uint16_t>(from))
                                  : sy::float16::from_f16(read<uint16_t>(from));
  }
  void set(int64_t i, double value) {
    char* to = bytes() + i * (type.bits / 8);
    if (type.bits == 64) return write(to, value);
    if (type.bits == 32) return write(to, static_cast<float>(value));
    write(to, type.code == SY_BFLOAT ? sy::float16::to_bf16(sy::float16::to_odd(value))
                                     : sy::float16::to_f16(sy::float16::to_odd(value)));
  }
  void* data() { return count > 0 ? words_.data() : nullptr; }
  uint64_t size() const { return static_cast<uint64_t>(count) * type.bits / 8; }
  bool same_bits(const Tensor& other) const { return words_ == other.words_; }

  sy_dtype type{};
  int64_t count = 0;

 private:
  const char* bytes() const { return reinterpret_cast<const char*>(words_.data()); }
  char* bytes() { return reinterpret_cast<char*>(words_.data()); }
  template <class T>
  static T read(const char* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  template <class T>
  static void write(char* to, T value) {
    std::memcpy(to, &value, sizeof value);
  }
  std::vector<uint64_t> words_;
};

/// `v` as a tensor of this type holds it.
inline double rounded(double v, sy_dtype type) {
  Tensor one(type, 1);
  one.set(0, v);
  return one.at(0);
}

/// Half a unit in the last place, relative.
inline double half_unit(sy_dtype type) {
  if (type.bits == 64) return 0x1p-53;
  if (type.bits == 32) return 0x1p-24;
  return type.code == SY_BFLOAT ? 0x1p-8 : 0x1p-11;
}

inline const char* name_of(sy_dtype type) {
  if (type.bits == 64) return "fp64";
  if (type.bits == 32) return "fp32";
  return type.code == SY_BFLOAT ? "bf16" : "fp16";
}

inline Tensor normal(sy_dtype type, int64_t count, uint32_t seed, double mean = 0, double deviation = 1) {
  constexpr int64_t drawn = 1000003;  // then they repeat, not in step with rows
  std::mt19937 engine(seed);
  std::normal_distribution<double> draw(mean, deviation);
  Tensor t(type, count);
  for (int64_t i = 0; i < count; ++i) t.set(i, i < drawn ? draw(engine) : t.at(i - drawn));
  return t;
}
inline Tensor filled(sy_dtype type, int64_t count, double value) {
  Tensor t(type, count);
  for (int64_t i = 0; i < count; ++i) t.set(i, value);
  return t;
}
inline Tensor scratch(uint64_t bytes) { return filled(sy::f64, static_cast<int64_t>(bytes / 8 + 1), NAN); }

/// Where a case runs; at() is where a tensor lies for the kernel.
class Place {
 public:
  virtual ~Place() = default;
  virtual void* at(Tensor& t) = 0;
  sum gradient(Tensor& t) { return {at(t), t.type}; }
  lane on;
};

class Host : public Place {
 public:
  explicit Host(int threads) { on.spread = threads == 1 ? nullptr : threads == 2 ? spread<2> : spread<3>; }
  void* at(Tensor& t) override { return t.data(); }

 private:
  template <int threads>
  static void spread(int64_t n, int64_t grain, void (*body)(const void*, int64_t, int64_t), const void* self) {
    const int64_t part = std::max(grain, (n + threads - 1) / threads);
    std::vector<std::thread> all;
    for (int64_t begin = 0; begin < n; begin += part)
      all.emplace_back([=] { body(self, begin, std::min(n, begin + part)); });
    for (std::thread& t : all) t.join();
  }
};

/// One result of a case: how far it may be from `expected`, besides the rounding of its type, is `loose` of the widest
/// type's rounding times the largest expected, plus `apart`. Two runs on different lanes may differ by `between` more,
/// where they sum what each has rounded.
struct Output {
  std::string name;
  Tensor* tensor;
  double loose = 8, apart = 0, between = 0;
};

}  // namespace kernels
