/* my_layer: y[..., c] = gain[c] * x[..., c], with a learned gain for each channel. Plain C, no library. */
#include <stdio.h>
#include <stdlib.h>
#include <switchyard/plugin.h>

static const sy_host* host; /* what the core offers; lives as long as the process */

struct sy_layer { /* one layer of a model; the header leaves it to the plugin */
  double start;
  int64_t width;
  char init[40];
  const float* gain;
  float* gain_grad; /* NULL: not trained */
};
struct sy_saved { /* what a forward keeps for its backward */
  sy_tensor* x;
};

/* What a user may write in the TOML file; the core checks it before create is called. */
static const sy_option start = {
    sizeof(sy_option), SY_T_F64, "start", "1.0", -1e6, 1e6, NULL, NULL, "what every gain starts from"};
static const sy_option* const options[] = {&start};

static sy_rc fail(sy_error** err, sy_rc code, const char* text) { return host->fail(host->self, err, code, text); }

static sy_rc create(const sy_host* h, const sy_config* table, sy_layer** give, sy_error** err) {
  sy_layer* l = calloc(1, sizeof *l);
  if (!l) return fail(err, SY_E_NO_MEMORY, "out of host memory");
  sy_rc rc = h->cfg_f64(table, "start", &l->start, err);
  if (rc == SY_OK)
    *give = l;
  else
    free(l);
  return rc;
}

/* Shapes and types of the outputs; here the width becomes known. */
static sy_rc infer(sy_layer* l, uint32_t kind, sy_port* const* in, uint32_t n_in, sy_port* const* out,
                   uint32_t capacity, uint32_t* n_out, sy_error** err) {
  (void)kind;
  if (n_in != 1) return fail(err, SY_E_CONFIG, "my_layer takes one input");
  if (in[0]->ndim < 1 || in[0]->dtype.code != SY_FLOAT || in[0]->dtype.bits != 32)
    return fail(err, SY_E_CONFIG, "my_layer computes in fp32: add it to precision.keep_fp32");
  *n_out = 1;
  if (capacity < 1) return fail(err, SY_E_RANGE, "no room for the output");
  l->width = in[0]->shape[in[0]->ndim - 1];
  out[0]->flags = SY_PORT_DIFFERENTIABLE;
  out[0]->dtype = in[0]->dtype;
  out[0]->ndim = in[0]->ndim;
  for (int32_t d = 0; d < in[0]->ndim; ++d) out[0]->shape[d] = in[0]->shape[d];
  return SY_OK;
}

/* The core allocates, initialises, saves and updates what is declared here. */
static sy_rc params(sy_layer* l, uint32_t i, sy_param* out, sy_error** err) {
  (void)err;
  if (i > 0) return SY_E_RANGE;
  snprintf(l->init, sizeof l->init, "constant(%.17g)", l->start);
  out->kind = SY_WEIGHT;
  out->dtype_class = SY_CLASS_FP32;
  out->ndim = 1;
  out->shape[0] = l->width;
  out->name = "gain";
  out->init = l->init;
  return SY_OK;
}

/* For plans. keep_in: the core keeps input 0 unchanged until backward, and counts it. */
static sy_rc cost(sy_layer* l, uint32_t kind, const sy_port* const* in, uint32_t n_in, sy_cost* out, sy_error** err) {
  double n = 1;
  (void)l, (void)kind, (void)n_in, (void)err;
  for (int32_t d = 0; d < in[0]->ndim; ++d) n *= (double)in[0]->shape[d];
  out->flops_forward = n;
  out->flops_input = n;
  out->flops_weight = 2 * n;
  out->keep_in = 1;
  return SY_OK;
}

static float* data(const sy_view* v) { return (float*)((char*)v->data + v->byte_offset); }

/* The addresses stay for the life of the layer. */
static sy_rc bind(sy_layer* l, const sy_binding* b, sy_error** err) {
  if (b->device.type != SY_DEVICE_CPU) return fail(err, SY_E_UNIMPLEMENTED, "my_layer computes on CPUs only");
  l->gain = data(b->values[0]);
  l->gain_grad = b->grads[0] ? data(b->grads[0]) : NULL;
  return SY_OK;
}

static int64_t count(const sy_view* v) {
  int64_t n = 1;
  for (int32_t d = 0; d < v->ndim; ++d) n *= v->shape[d];
  return n;
}

struct block { /* memory of a tensor that we made, and whom it is charged to */
  const sy_origin* origin;
  int64_t bytes;
  float* memory;
};
static void drop(void* owner) {
  struct block* b = owner;
  host->free(host->self, b->memory);
  host->charge(host->self, b->origin, -b->bytes, NULL);
  free(b);
}

/* A new contiguous tensor of the same shape, charged to the device of the call. */
static sy_rc new_like(const sy_call* call, const sy_view* like, sy_tensor** give, sy_error** err) {
  sy_view view = *like;
  int64_t strides[SY_MAX_DIMS], n = 1;
  for (int32_t d = like->ndim; d-- > 0; n *= like->shape[d]) strides[d] = n;
  struct block* b = malloc(sizeof *b);
  if (!b) return fail(err, SY_E_NO_MEMORY, "out of host memory");
  b->origin = call->origin;
  b->bytes = n * (int64_t)sizeof(float);
  sy_rc rc = host->charge(host->self, b->origin, b->bytes, err);
  if (rc != SY_OK) {
    free(b);
    return rc;
  }
  b->memory = host->alloc(host->self, b->bytes > 0 ? (uint64_t)b->bytes : 1, 256);
  if (!b->memory) {
    drop(b);
    return fail(err, SY_E_NO_MEMORY, "out of host memory");
  }
  view.data = b->memory;
  view.device = call->device;
  view.strides = strides;
  view.byte_offset = 0;
  return host->tensor_wrap(host->self, &view, b, drop, give, err);
}

static sy_rc forward(sy_layer* l, const sy_call* call, sy_saved** give, sy_error** err) {
  const sy_view* x = host->tensor_view(call->in[0]);
  sy_tensor* made = NULL;
  sy_saved* saved = NULL;
  if (!(call->flags & SY_CALL_NO_SAVE) && !(saved = malloc(sizeof *saved)))
    return fail(err, SY_E_NO_MEMORY, "out of host memory");
  sy_rc rc = new_like(call, x, &made, err);
  if (rc != SY_OK) {
    free(saved);
    return rc;
  }
  float* y = data(host->tensor_view(made));
  for (int64_t i = 0, n = count(x); i < n; ++i) y[i] = l->gain[i % l->width] * data(x)[i];
  call->out[0] = made;
  if (saved) {
    saved->x = call->in[0];
    host->tensor_keep(saved->x);
    *give = saved;
  }
  return SY_OK;
}

static void free_saved(sy_layer* l, sy_saved* take) {
  (void)l;
  if (take) host->tensor_drop(take->x);
  free(take);
}

/* call->in: gradients of the outputs, call->out: those of the inputs, where call->want has their bit. */
static sy_rc backward(sy_layer* l, const sy_call* call, sy_saved* take, sy_error** err) {
  sy_rc rc = SY_OK;
  if (call->in[0]) { /* else nothing flows back */
    const sy_view* dy = host->tensor_view(call->in[0]);
    const float* x = data(host->tensor_view(take->x));
    const int64_t n = count(dy);
    if (call->want & 1) rc = new_like(call, dy, &call->out[0], err);
    if (rc == SY_OK && l->gain_grad)
      for (int64_t i = 0; i < n; ++i) l->gain_grad[i % l->width] += data(dy)[i] * x[i];
    if (rc == SY_OK && call->want & 1) {
      float* dx = data(host->tensor_view(call->out[0]));
      for (int64_t i = 0; i < n; ++i) dx[i] = l->gain[i % l->width] * data(dy)[i];
    }
  }
  free_saved(l, take);
  return rc;
}

static void destroy(sy_layer* take) { free(take); }

static sy_rc attach(const sy_host* h, sy_error** err) {
  (void)err;
  host = h;
  return SY_OK;
}

static const sy_layer_api table = {
    .size = sizeof table,
    .id = "my_layer",
    .help = "multiplies each channel (the last dimension) by a learned number",
    .options = options,
    .n_options = 1,
    .create = create,
    .infer = infer,
    .params = params,
    .cost = cost,
    .bind = bind,
    .forward = forward,
    .backward = backward,
    .free_saved = free_saved,
    .destroy = destroy,
};
static const sy_export exports[] = {{SY_KIND_LAYER, &table}};
const sy_plugin sy_plugin_v1 = {
    SY_PLUGIN_MAGIC, sizeof(sy_plugin), SY_ABI_MAJOR, SY_ABI_MINOR, "my_layer", "0.1", exports, 1, 0, attach};
SY_PLUGIN_NOTE("my_layer");
