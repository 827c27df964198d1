// Activations, gates and additions.
#pragma once

#include "lane.hpp"

namespace sy::kernels {

/// relu max(x, 0); gelu x Phi(x); gelu_tanh its tanh approximation (Hendrycks, Gimpel 2016); silu x sigmoid(x).
enum class function : uint8_t { relu, gelu, gelu_tanh, silu, tanh, sigmoid };

/// Which of input and output the backward reads: relu, tanh and sigmoid the output, the others the input.
constexpr bool reads_output(function f) { return f == function::relu || f == function::tanh || f == function::sigmoid; }

/// y[i] = f(x[i]), i < n. y may be x.
void activate(const lane&, function, sy_dtype type, int64_t n, const void* x, void* y);

/// dx = dy f'(.) over [rows, columns]; kept: x or y, as reads_output says. dx may be dy. bias_gradient [columns] +=
/// column sums of dx as stored. scratch: column_sum_scratch (columns.hpp) bytes when there is a bias gradient.
void activate_backward(const lane&, function, sy_dtype type, int64_t rows, int64_t columns, const void* dy,
                       const void* kept, void* dx, sum bias_gradient, void* scratch);

/// SwiGLU (Shazeer 2020): y = silu(gate) up, over n elements; y may be gate or up.
void swiglu(const lane&, sy_dtype type, int64_t n, const void* gate, const void* up, void* y);
/// dgate may be gate, dup may be up, either may be dy.
void swiglu_backward(const lane&, sy_dtype type, int64_t n, const void* dy, const void* gate, const void* up,
                     void* dgate, void* dup);

/// y = a + b over n elements; y may be either.
void add(const lane&, sy_dtype type, int64_t n, const void* a, const void* b, void* y);

}  // namespace sy::kernels
