#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "kernels.hpp"
#include "segments.cuh"

namespace sy::opt::cuda {
namespace {

constexpr uint64_t run_elements = 32768;

__device__ double as_double(float v) { return v; }
__device__ double as_double(__nv_bfloat16 v) { return __bfloat162float(v); }

/// The sum over the block's lanes, as a tree; right in lane 0.
__device__ double sum_of_lanes(double mine) {
  __shared__ double lanes[threads];
  lanes[threadIdx.x] = mine;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) lanes[threadIdx.x] += lanes[threadIdx.x + half];
  }
  return lanes[0];
}

template <class Grad>
__global__ void sums_of_runs(const Batch batch, const Grad* grad, double* sums) {
  const Segment& segment = batch.at[batch.of_block(blockIdx.x)];
  const uint64_t first = (blockIdx.x - segment.first_block) * run_elements;
  const uint64_t rest = segment.count - first, end = first + (rest < run_elements ? rest : run_elements);
  double sum = 0;
  for (uint64_t i = first + threadIdx.x; i < end; i += threads) {
    const double x = as_double(grad[segment.offset + i]);
    sum += x * x;
  }
  sum = sum_of_lanes(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// One block for each segment.
__global__ void sums_of_segments(const Batch batch, const double* sums, double* out) {
  const int segment = static_cast<int>(blockIdx.x);
  const uint32_t begin = batch.at[segment].first_block;
  const uint32_t end = segment + 1 < batch.segments ? batch.at[segment + 1].first_block : batch.blocks;
  double sum = 0;
  for (uint32_t i = begin + threadIdx.x; i < end; i += threads) sum += sums[i];
  sum = sum_of_lanes(sum);
  if (threadIdx.x == 0) out[segment] = sum;
}

cudaError_t batch_norms(const sy_opt_span& span, const Batch& batch, double* out, cudaStream_t stream) {
  double* sums = nullptr;
  const cudaError_t code =
      cudaMallocAsync(reinterpret_cast<void**>(&sums), (batch.blocks + 1) * sizeof(double), stream);
  if (code != cudaSuccess) return code;
  if (batch.blocks > 0 && span.grad_dtype.code == SY_BFLOAT)
    sums_of_runs<<<batch.blocks, threads, 0, stream>>>(batch, static_cast<const __nv_bfloat16*>(span.grad), sums);
  else if (batch.blocks > 0)
    sums_of_runs<<<batch.blocks, threads, 0, stream>>>(batch, static_cast<const float*>(span.grad), sums);
  sums_of_segments<<<batch.segments, threads, 0, stream>>>(batch, sums, out);
  const cudaError_t started = cudaGetLastError(), freed = cudaFreeAsync(sums, stream);
  return started != cudaSuccess ? started : freed;
}

}  // namespace

const char* squared_norms(const sy_opt_span& span, double* out_on_device, void* stream) {
  for (uint32_t first = 0; first < span.n_segments; first += most_segments) {
    const Batch batch(span, first, run_elements);
    const cudaError_t code = batch_norms(span, batch, out_on_device + first, static_cast<cudaStream_t>(stream));
    if (code == cudaSuccess) continue;
    cudaGetLastError();
    return cudaGetErrorString(code);
  }
  return nullptr;
}

}  // namespace sy::opt::cuda
