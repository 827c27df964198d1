// Elements of tensors in packets of 16 bytes, or one by one where rows do not begin at 16 bytes. Everything is computed
// in fp32, in fp64 for fp64.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "../lane.hpp"

namespace sy::kernels::cuda {

template <class T>
struct wide_of {
  using type = float;
};
template <>
struct wide_of<double> {
  using type = double;
};
template <class T>
using wide_t = typename wide_of<T>::type;

/// How many elements make 16 bytes; fp64 goes one by one.
template <class T>
inline constexpr int packet = sizeof(T) == 8 ? 1 : 16 / static_cast<int>(sizeof(T));

/// N elements as they are loaded.
template <class T, int N>
struct raw {
  static_assert(N == 1 || N * sizeof(T) == 16);
  alignas(N * sizeof(T)) T at[N];
};
template <>
struct raw<__nv_bfloat16, 8> {
  uint4 words;
};
template <>
struct raw<__half, 8> {
  uint4 words;
};

template <int N, class T>
__device__ __forceinline__ raw<T, N> load(const T* from) {
  return *reinterpret_cast<const raw<T, N>*>(from);
}
template <int N, class T>
__device__ __forceinline__ void store(T* to, const raw<T, N>& from) {
  *reinterpret_cast<raw<T, N>*>(to) = from;
}

__device__ __forceinline__ float widen_one(float v) { return v; }
__device__ __forceinline__ double widen_one(double v) { return v; }
__device__ __forceinline__ float widen_one(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ __forceinline__ float widen_one(__half v) { return __half2float(v); }
__device__ __forceinline__ void narrow_one(float v, float& to) { to = v; }
__device__ __forceinline__ void narrow_one(double v, double& to) { to = v; }
__device__ __forceinline__ void narrow_one(float v, __nv_bfloat16& to) { to = __float2bfloat16_rn(v); }
__device__ __forceinline__ void narrow_one(float v, __half& to) { to = __float2half_rn(v); }

/// The two elements of a word.
template <class T>
__device__ __forceinline__ void widen_two(uint32_t word, float* to);
template <>
__device__ __forceinline__ void widen_two<__nv_bfloat16>(uint32_t word, float* to) {
  to[0] = __uint_as_float(word << 16);
  to[1] = __uint_as_float(word & 0xFFFF0000u);
}
template <>
__device__ __forceinline__ void widen_two<__half>(uint32_t word, float* to) {
  const float2 both = __half22float2(*reinterpret_cast<const __half2*>(&word));
  to[0] = both.x;
  to[1] = both.y;
}
template <class T>
__device__ __forceinline__ uint32_t narrow_two(float low, float high);
template <>
__device__ __forceinline__ uint32_t narrow_two<__nv_bfloat16>(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&both);
}
template <>
__device__ __forceinline__ uint32_t narrow_two<__half>(float low, float high) {
  const __half2 both = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&both);
}

template <class T, int N>
__device__ __forceinline__ void widen(const raw<T, N>& from, wide_t<T> (&to)[N]) {
  if constexpr (N == 8) {
    widen_two<T>(from.words.x, to);
    widen_two<T>(from.words.y, to + 2);
    widen_two<T>(from.words.z, to + 4);
    widen_two<T>(from.words.w, to + 6);
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = widen_one(from.at[i]);
  }
}
template <class T, int N>
__device__ __forceinline__ raw<T, N> narrow(const wide_t<T> (&from)[N]) {
  raw<T, N> made;
  if constexpr (N == 8) {
    made.words.x = narrow_two<T>(from[0], from[1]);
    made.words.y = narrow_two<T>(from[2], from[3]);
    made.words.z = narrow_two<T>(from[4], from[5]);
    made.words.w = narrow_two<T>(from[6], from[7]);
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) narrow_one(from[i], made.at[i]);
  }
  return made;
}
template <class T, int N>
__device__ __forceinline__ raw<T, N> zeros() {
  wide_t<T> none[N] = {};
  return narrow<T, N>(none);
}

/// N sums at once; N of four or more begin at 16 bytes.
template <int N, class W>
__device__ __forceinline__ void store_wide(W* to, const W (&from)[N]) {
  if constexpr (N % 4 == 0 && sizeof(W) == 4) {
#pragma unroll
    for (int i = 0; i < N; i += 4)
      *reinterpret_cast<float4*>(to + i) = make_float4(from[i], from[i + 1], from[i + 2], from[i + 3]);
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = from[i];
  }
}

/// N elements of a gradient from `first` on += v; N of four or more begin at 16 bytes of fp32, at 8 of bf16.
template <int N, class W>
__device__ __forceinline__ void add_to(const sum& to, int64_t first, const W (&v)[N]) {
  if (to.type.bits == 64) {
    double* at = static_cast<double*>(to.data) + first;
#pragma unroll
    for (int i = 0; i < N; ++i) at[i] += static_cast<double>(v[i]);
  } else if (to.type.bits == 32) {
    float* at = static_cast<float*>(to.data) + first;
    float made[N];
    if constexpr (N % 4 == 0) {
#pragma unroll
      for (int i = 0; i < N; i += 4) *reinterpret_cast<float4*>(made + i) = *reinterpret_cast<const float4*>(at + i);
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i) made[i] = at[i];
    }
#pragma unroll
    for (int i = 0; i < N; ++i) made[i] += static_cast<float>(v[i]);
    store_wide<N>(at, made);
  } else {
    auto* at = static_cast<__nv_bfloat16*>(to.data) + first;
    if constexpr (N % 4 == 0) {
#pragma unroll
      for (int i = 0; i < N; i += 2) {
        auto* word = reinterpret_cast<uint32_t*>(at + i);
        float both[2];
        widen_two<__nv_bfloat16>(*word, both);
        *word = narrow_two<__nv_bfloat16>(both[0] + static_cast<float>(v[i]), both[1] + static_cast<float>(v[i + 1]));
      }
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i) narrow_one(widen_one(at[i]) + static_cast<float>(v[i]), at[i]);
    }
  }
}

__device__ __forceinline__ float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double multiply_add(double a, double b, double c) { return fma(a, b, c); }

// ---- on the host ----------------------------------------------------------------------------------------------------

/// run(T*()) with the element type of `type`.
template <class Run>
const char* with_type(sy_dtype type, const Run& run) {
  if (type.bits == 64) return run(static_cast<double*>(nullptr));
  if (type.bits == 32) return run(static_cast<float*>(nullptr));
  if (type.code == SY_BFLOAT) return run(static_cast<__nv_bfloat16*>(nullptr));
  return run(static_cast<__half*>(nullptr));
}

template <class... Pointers>
bool aligned(const Pointers*... all) {
  return (reinterpret_cast<uintptr_t>(static_cast<const void*>(nullptr)) | ... | reinterpret_cast<uintptr_t>(all)) %
             16 ==
         0;
}

/// run(std::integral_constant<int, N>()) with whole packets, or with single elements.
template <class T, class Run>
const char* with_packets(bool whole, const Run& run) {
  if constexpr (packet < T >> 1)
    if (whole) return run(std::integral_constant<int, packet<T>>());
  return run(std::integral_constant<int, 1>());
}

inline cudaStream_t as_stream(void* stream) { return static_cast<cudaStream_t>(stream); }
constexpr int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
constexpr unsigned parts_of(int64_t n, int64_t part) { return static_cast<unsigned>((n + part - 1) / part); }

/// NULL, or why the last launch did not start.
inline const char* started() {
  const cudaError_t code = cudaGetLastError();
  return code == cudaSuccess ? nullptr : cudaGetErrorString(code);
}

}  // namespace sy::kernels::cuda
