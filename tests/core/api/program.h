/* What the C programs of these tests share: checks, one configuration, one batch. */
#ifndef TESTS_CORE_API_PROGRAM_H
#define TESTS_CORE_API_PROGRAM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "switchyard/switchyard.h"

static int failures = 0;

#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) {                                              \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                    \
    }                                                                \
  } while (0)

/* The call succeeds and leaves the error alone. */
#define OK(call)                                                                              \
  do {                                                                                        \
    sy_error *err = NULL;                                                                     \
    const sy_rc rc_ = (call);                                                                 \
    if (rc_ != SY_OK || err != NULL) {                                                        \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, sy_error_text(err));      \
      ++failures;                                                                             \
    }                                                                                         \
    sy_error_free(err);                                                                       \
  } while (0)

/* The call fails with this code, and its text holds this part. */
#define FAILS(call, code, part)                                                                         \
  do {                                                                                                  \
    sy_error *err = NULL;                                                                               \
    const sy_rc rc_ = (call);                                                                           \
    if (rc_ != (code) || sy_error_code(err) != (code) || strstr(sy_error_text(err), part) == NULL) {    \
      fprintf(stderr, "%s:%d: %s: code %d, text '%s'\n", __FILE__, __LINE__, #call, (int)rc_, sy_error_text(err)); \
      ++failures;                                                                                       \
    }                                                                                                   \
    sy_error_free(err);                                                                                 \
  } while (0)

/* 3 numbers to 4 classes over two devices. */
static const char *const program_text =
    "[model]\ninput = { shape = [3] }\n"
    "[[layer]]\ntype = \"plain_linear\"\nname = \"a\"\nout = 5\n"
    "[[layer]]\ntype = \"plain_tanh\"\nname = \"t\"\n"
    "[[layer]]\ntype = \"plain_linear\"\nname = \"b\"\nout = 4\n"
    "[[layer]]\ntype = \"plain_cross_entropy\"\nname = \"loss\"\n"
    "[devices]\nuse = [\"cpu:0\", \"cpu:1\"]\nthreads = 1\n"
    "[placement]\npolicy = \"contiguous\"\n"
    "[schedule]\ntype = \"1f1b\"\nmicro_batches = 2\n"
    "[train]\nbatch = 4\nsteps = 100\noptimizer = { type = \"sgd\", lr = 0.1 }\n";

static sy_runtime *open_text(const char *text, const char *const *sets, uint32_t n_sets) {
  sy_runtime *runtime = NULL;
  sy_runtime_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.text = text;
  options.sets = sets;
  options.n_sets = n_sets;
  OK(sy_runtime_open(&options, &runtime, &err));
  return runtime;
}

static sy_pipe *build_pipe(sy_runtime *runtime) {
  sy_plan *plan = NULL;
  sy_pipe *pipe = NULL;
  OK(sy_plan_make(runtime, &plan, &err));
  OK(sy_pipe_build(plan, &pipe, &err));
  sy_plan_free(plan);
  return pipe;
}

/* Four samples. */
static float batch_inputs[4 * 3] = {1, 2, 3, -1, 0, 1, 0.5f, 0.25f, -2, 3, 1, 0};
static int64_t batch_targets[4] = {0, 1, 2, 3};
static int64_t inputs_shape[2] = {4, 3}, inputs_strides[2] = {3, 1};
static int64_t targets_shape[1] = {4}, targets_strides[1] = {1};

static sy_view view(void *data, uint8_t code, uint8_t bits, int32_t ndim, int64_t *shape, int64_t *strides) {
  sy_view v;
  memset(&v, 0, sizeof v);
  v.data = data;
  v.device.type = SY_DEVICE_CPU;
  v.ndim = ndim;
  v.dtype.code = code;
  v.dtype.bits = bits;
  v.dtype.lanes = 1;
  v.shape = shape;
  v.strides = strides;
  return v;
}
static sy_view inputs_view(void) { return view(batch_inputs, SY_FLOAT, 32, 2, inputs_shape, inputs_strides); }
static sy_view targets_view(void) { return view(batch_targets, SY_INT, 64, 1, targets_shape, targets_strides); }

#endif
