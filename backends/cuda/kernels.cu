#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels.hpp"

namespace sy::cuda {
namespace {

constexpr int threads = 256;
constexpr int64_t most_blocks = 65535;

unsigned blocks_for(int64_t count) {
  const int64_t needed = (count + threads - 1) / threads;
  return static_cast<unsigned>(needed < most_blocks ? needed : most_blocks);
}

/// To fp32, rounded to odd, so that a second rounding to 16 bits gives what one rounding would have given (Boldo and
/// Melquiond, "Emulation of FMA and correctly rounded sums", 2008): toward zero, and the last bit set when inexact.
__device__ float to_odd(double value) {
  const float cut = __double2float_rz(value);
  if (static_cast<double>(cut) == value || value != value) return cut;
  return __int_as_float(__float_as_int(cut) | 1);
}

// Each type knows its bits in memory, and how to become and to be made from a wide type (float or double).
struct Fp64 {
  using Bits = double;
  static __device__ double widen(double v) { return v; }
  static __device__ double round(double v) { return v; }
};
struct Fp32 {
  using Bits = float;
  static __device__ float widen(float v) { return v; }
  static __device__ float round(float v) { return v; }
  static __device__ float round(double v) { return __double2float_rn(v); }
};
struct Fp16 {
  using Bits = __half;
  static __device__ float widen(__half v) { return __half2float(v); }
  static __device__ __half round(float v) { return __float2half_rn(v); }
  static __device__ __half round(double v) { return __float2half_rn(to_odd(v)); }
};
struct Bf16 {
  using Bits = __nv_bfloat16;
  static __device__ float widen(__nv_bfloat16 v) { return __bfloat162float(v); }
  static __device__ __nv_bfloat16 round(float v) { return __float2bfloat16_rn(v); }
  static __device__ __nv_bfloat16 round(double v) { return __float2bfloat16_rn(to_odd(v)); }
};

template <class T, class F>
__global__ void cast_kernel(typename T::Bits* to, const typename F::Bits* from, int64_t count) {
  const int64_t step = int64_t{gridDim.x} * threads;
  for (int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x; i < count; i += step)
    to[i] = T::round(F::widen(from[i]));
}

template <class T, class F>
__global__ void accumulate_kernel(typename T::Bits* to, const typename F::Bits* from, int64_t count) {
  const int64_t step = int64_t{gridDim.x} * threads;
  for (int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x; i < count; i += step)
    to[i] = T::round(T::widen(to[i]) + F::widen(from[i]));
}

template <class Element>
__global__ void strided_kernel(Element* to, const Element* from, Strided layout, int64_t count) {
  const int64_t step = int64_t{gridDim.x} * threads;
  for (int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x; i < count; i += step) {
    int64_t rest = i, at_to = 0, at_from = 0;
    for (int axis = layout.axes - 1; axis >= 0; --axis) {
      const int64_t index = rest % layout.size[axis];
      rest /= layout.size[axis];
      at_to += index * layout.to[axis];
      at_from += index * layout.from[axis];
    }
    to[at_to] = from[at_from];
  }
}

__global__ void decide_kernel(sy_decide terms) { sy_decide_here(&terms); }

template <class Body>
void with_type(Number type, Body&& body) {
  switch (type) {
    case Number::fp64:
      return body(Fp64{});
    case Number::fp32:
      return body(Fp32{});
    case Number::fp16:
      return body(Fp16{});
    case Number::bf16:
      return body(Bf16{});
  }
}

template <class Element>
void start_strided(void* to, const void* from, const Strided& layout, int64_t count, cudaStream_t stream) {
  strided_kernel<<<blocks_for(count), threads, 0, stream>>>(static_cast<Element*>(to),
                                                            static_cast<const Element*>(from), layout, count);
}

}  // namespace

void launch_cast(void* to, Number to_type, const void* from, Number from_type, int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  with_type(to_type, [&](auto t) {
    with_type(from_type, [&](auto f) {
      using T = decltype(t);
      using F = decltype(f);
      cast_kernel<T, F><<<blocks_for(count), threads, 0, stream>>>(static_cast<typename T::Bits*>(to),
                                                                   static_cast<const typename F::Bits*>(from), count);
    });
  });
}

void launch_accumulate(void* to, Number to_type, const void* from, Number from_type, int64_t count,
                       cudaStream_t stream) {
  if (count == 0) return;
  with_type(to_type, [&](auto t) {
    with_type(from_type, [&](auto f) {
      using T = decltype(t);
      using F = decltype(f);
      accumulate_kernel<T, F><<<blocks_for(count), threads, 0, stream>>>(
          static_cast<typename T::Bits*>(to), static_cast<const typename F::Bits*>(from), count);
    });
  });
}

void launch_decide(const sy_decide& terms, cudaStream_t stream) { decide_kernel<<<1, 1, 0, stream>>>(terms); }

void launch_strided(void* to, const void* from, int element_bytes, const Strided& layout, int64_t count,
                    cudaStream_t stream) {
  if (count == 0) return;
  switch (element_bytes) {
    case 1:
      return start_strided<uchar1>(to, from, layout, count, stream);
    case 2:
      return start_strided<ushort1>(to, from, layout, count, stream);
    case 4:
      return start_strided<uint1>(to, from, layout, count, stream);
    case 8:
      return start_strided<uint2>(to, from, layout, count, stream);
    case 16:
      return start_strided<uint4>(to, from, layout, count, stream);
  }
}

}  // namespace sy::cuda
