// The CUDA twins: everything is enqueued on `stream` (a cudaStream_t) of the current device. Each returns NULL, or
// CUDA's text of what went wrong (lent). Arguments were checked.
#pragma once

#include "../columns.hpp"
#include "../drop.hpp"
#include "../embed.hpp"
#include "../pointwise.hpp"
#include "../rotary.hpp"
#include "../row_norm.hpp"
#include "../softmax_loss.hpp"

namespace sy::kernels::cuda {

const char* norm_forward(void* stream, const norm_size&, const norm_forward_data&);
const char* norm_backward(void* stream, const norm_size&, const norm_backward_data&);
uint64_t norm_backward_scratch(const norm_size&);

const char* column_sum(void* stream, sy_dtype type, int64_t rows, int64_t columns, const void* x, sum to,
                       void* scratch);
uint64_t column_sum_scratch(sy_dtype type, int64_t rows, int64_t columns);
const char* pack(void* stream, sy_dtype type, int64_t rows, int64_t inner, int64_t head_width, const packed_part* parts,
                 int64_t n_parts, void* to, sum bias_gradient, void* scratch);

const char* activate(void* stream, function, sy_dtype type, int64_t n, const void* x, void* y);
const char* activate_backward(void* stream, function, sy_dtype type, int64_t rows, int64_t columns, const void* dy,
                              const void* kept, void* dx, sum bias_gradient, void* scratch);
const char* swiglu(void* stream, sy_dtype type, int64_t n, const void* gate, const void* up, void* y);
const char* swiglu_backward(void* stream, sy_dtype type, int64_t n, const void* dy, const void* gate, const void* up,
                            void* dgate, void* dup);
const char* add(void* stream, sy_dtype type, int64_t n, const void* a, const void* b, void* y);

const char* rotate(void* stream, sy_dtype type, int64_t rows, int64_t time, int64_t heads, int64_t head_width,
                   int64_t row_stride, double base, bool back, void* x);

const char* softmax_loss(void* stream, const softmax_loss_data&);
const char* sum_losses(void* stream, int64_t rows, const double* losses, const double* right, float* out);

const char* embed(void* stream, const embed_size&, const void* ids, const void* token, const void* position, void* y);
const char* embed_backward(void* stream, const embed_size&, const void* ids, const void* dy, sum token, sum position,
                           void* scratch);
uint64_t embed_backward_scratch(const embed_size&);

const char* drop(void* stream, sy_dtype type, int64_t samples, int64_t per_sample, const drawing&, const void* x,
                 const void* add, void* y);

}  // namespace sy::kernels::cuda
