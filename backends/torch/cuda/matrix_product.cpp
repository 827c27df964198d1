#include "matrix_product.hpp"

#include <c10/cuda/CUDAStream.h>
#include <cublasLt.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>

#include "half.hpp"

namespace at::cuda {
// Their own header asks for those of every CUDA library.
cublasLtHandle_t getCurrentCUDABlasLtHandle();
void* getCUDABlasLtWorkspace();
std::size_t getCUDABlasLtWorkspaceSize();
}  // namespace at::cuda

namespace sy {
namespace {

void must(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string("cuBLASLt: ") + what + ": " + cublasLtGetStatusString(status));
}

cudaDataType_t cuda_type(sy_dtype t) {
  if (t.code == SY_BFLOAT) return CUDA_R_16BF;
  return t.bits == 16 ? CUDA_R_16F : CUDA_R_32F;
}

/// The largest power of two, at most 256, that the address is a multiple of.
uint32_t alignment_of(const void* p) {
  uint32_t n = 256;
  while (n > 1 && reinterpret_cast<uintptr_t>(p) % n) n /= 2;
  return n;
}

template <class Handle, cublasStatus_t (*destroy)(Handle)>
struct Destroy {
  void operator()(Handle h) const { destroy(h); }
};
template <class Handle, cublasStatus_t (*destroy)(Handle)>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<Handle, destroy>>;

using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Operation = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

Layout layout_of(cudaDataType_t type, int64_t rows, int64_t columns) {
  cublasLtMatrixLayout_t made = nullptr;
  must(cublasLtMatrixLayoutCreate(&made, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), rows),
       "layout");
  return Layout(made);
}

/// cuBLASLt counts by columns: it makes d^T [n, m] = op(b)^T op(a)^T.
struct Problem {
  explicit Problem(const MatrixProduct& p)
      : first(layout_of(cuda_type(p.type), p.b_transposed ? p.k : p.n, p.b_transposed ? p.n : p.k)),
        second(layout_of(cuda_type(p.type), p.a_transposed ? p.m : p.k, p.a_transposed ? p.k : p.m)),
        result(layout_of(cuda_type(p.d_type), p.n, p.m)) {
    cublasLtMatmulDesc_t made = nullptr;
    must(cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F), "operation");
    operation.reset(made);
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, p.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (!p.bias) return;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cuda_type(p.type));
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t which, const T& value) {
    must(cublasLtMatmulDescSetAttribute(operation.get(), which, &value, sizeof value), "attribute");
  }
  Layout first, second, result;
  Operation operation;
};

struct Workspace {
  void* data;
  std::size_t bytes;
};

/// LibTorch's for this thread's handle and the stream. It reads its settings by regular expressions, each time it is
/// asked.
const Workspace& workspace_of(cudaStream_t stream) {
  static thread_local std::map<cudaStream_t, Workspace> known;
  const auto found = known.find(stream);
  if (found != known.end()) return found->second;
  return known[stream] = {at::cuda::getCUDABlasLtWorkspace(), at::cuda::getCUDABlasLtWorkspaceSize()};
}

cublasStatus_t run(const MatrixProduct& p, const Problem& problem, const cublasLtMatmulAlgo_t& algorithm,
                   const Workspace& workspace, cudaStream_t stream) {
  const float one = 1, beta = p.c ? 1.0f : 0.0f;
  return cublasLtMatmul(at::cuda::getCurrentCUDABlasLtHandle(), problem.operation.get(), &one, p.b, problem.first.get(),
                        p.a, problem.second.get(), &beta, p.c ? p.c : p.d, problem.result.get(), p.d,
                        problem.result.get(), &algorithm, workspace.data, workspace.bytes, stream);
}

/// What cuBLASLt thinks is fastest of what never changes its bits from call to call. A choice by trying several would
/// let bits depend on timings.
cublasLtMatmulAlgo_t choose(const MatrixProduct& p, const Problem& problem, const Workspace& workspace) {
  cublasLtMatmulPreference_t made = nullptr;
  must(cublasLtMatmulPreferenceCreate(&made), "preference");
  const Preference preference(made);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t which, auto value) {
    must(cublasLtMatmulPreferenceSetAttribute(preference.get(), which, &value, sizeof value), "preference");
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(workspace.bytes));
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(p.b));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(p.a));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(p.c ? p.c : p.d));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(p.d));
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  must(cublasLtMatmulAlgoGetHeuristic(at::cuda::getCurrentCUDABlasLtHandle(), problem.operation.get(),
                                      problem.first.get(), problem.second.get(), problem.result.get(),
                                      problem.result.get(), preference.get(), 1, &found, &count),
       "no algorithm for this product");
  if (count == 0) throw std::runtime_error("cuBLASLt: no algorithm for this product");
  return found.algo;
}

// ---- what was chosen ----------------------------------------------------------------------------------------------

/// Devices of one kind choose the same, so that a stage gives the same bits on each.
std::pair<int, int> kind_of_device() {
  int device = 0, capability = 0, processors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  return {capability, processors};
}

using Key = std::tuple<std::pair<int, int>, std::array<int64_t, 3>, std::array<bool, 4>, std::array<uint8_t, 3>,
                       std::array<uint32_t, 4>>;

Key key_of(const MatrixProduct& p) {
  return {kind_of_device(),
          {p.m, p.n, p.k},
          {p.a_transposed, p.b_transposed, p.bias != nullptr, p.c != nullptr},
          {p.type.code, p.d_type.code, p.d_type.bits},
          {alignment_of(p.a), alignment_of(p.b), alignment_of(p.c ? p.c : p.d), alignment_of(p.d)}};
}

cublasLtMatmulAlgo_t algorithm_for(const MatrixProduct& p, const Problem& problem, const Workspace& workspace) {
  static std::mutex mutex;
  static std::map<Key, cublasLtMatmulAlgo_t> chosen;
  const Key key = key_of(p);
  const std::lock_guard lock(mutex);
  const auto found = chosen.find(key);
  if (found != chosen.end()) return found->second;
  return chosen[key] = choose(p, problem, workspace);
}

}  // namespace

void multiply(const MatrixProduct& p) {
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  const Problem problem(p);
  const Workspace& workspace = workspace_of(stream);
  const cublasLtMatmulAlgo_t algorithm = algorithm_for(p, problem, workspace);
  must(run(p, problem, algorithm, workspace, stream), "product");
}

}  // namespace sy
