/* switchyard/layer.h - layer types. A layer is a pure function with declared parameters: it declares what it needs, the
 * core owns and initialises every byte and hands out views. Plugin kind "sy.layer/0". */
#ifndef SWITCHYARD_LAYER_H
#define SWITCHYARD_LAYER_H

#include "base.h"

SY_BEGIN

#define SY_KIND_LAYER "sy.layer/0"
#define SY_MAX_DIMS 8

typedef struct sy_layer sy_layer; /* the plugin's own, one per layer of a model */
typedef struct sy_saved sy_saved; /* the plugin's own, what one forward call keeps for its backward; many alive per layer */

/* Kinds of call. TRAIN and EVAL end in a loss, FORWARD in predictions, the last two use key-value caches. */
enum { SY_TRAIN = 0, SY_EVAL = 1, SY_FORWARD = 2, SY_PREFILL = 3, SY_DECODE = 4 };

/* ---- ports: what enters and leaves a layer --------------------------------------------------------------------- */
enum {
  SY_PORT_DIFFERENTIABLE = 1u, /* gradients flow back through it */
  SY_PORT_IGNORE = 2u          /* ignore_id marks entries of targets that do not count (set by the core) */
};
typedef struct sy_port {
  uint32_t size;
  uint32_t flags;
  sy_dtype dtype;
  int32_t ndim;
  int64_t shape[SY_MAX_DIMS]; /* shape[0]: rows, the samples of this micro-batch */
  int64_t id_limit;           /* inputs: a layer that reads ids writes the limit here; the core checks 0 <= id < id_limit */
  int64_t ignore_id;
  sy_dtype compute;           /* inputs: the layer's compute type (set by the core), for layers whose inputs are no floats */
  uint32_t reserved;
} sy_port;

/* ---- parameters, buffers, accumulators --------------------------------------------------------------------------- */
enum { SY_WEIGHT = 0, SY_BUFFER = 1, SY_ACCUMULATOR = 2, SY_CACHE = 3 };
enum {
  SY_CLASS_COMPUTE = 0, /* the layer's compute type (its inputs' type); the optimizer keeps an fp32 master copy */
  SY_CLASS_FP32 = 1,    /* always fp32 */
  SY_CLASS_GIVEN = 2    /* the dtype field below; buffers only */
};
enum { SY_PARAM_NO_DECAY = 1u };
typedef struct sy_param {
  uint32_t size;
  uint32_t kind;        /* SY_WEIGHT ... An accumulator is zeroed before each step and never saved. */
  uint32_t dtype_class; /* SY_CLASS_* */
  uint32_t flags;
  sy_dtype dtype;
  int32_t ndim;
  int64_t shape[SY_MAX_DIMS];
  const char *name;    /* within the layer, such as "attn.qkv.weight"; lent as long as the layer lives */
  const char *init;    /* "zeros", "ones", "constant(x)", "normal(std)", "uniform(bound)" in [-bound, bound); lent likewise */
  const char *tied_to; /* NULL, or another layer's parameter: "embed.token.weight", or a layer's name when that layer has
                          just one weight of this shape; lent likewise */
} sy_param;

/* ---- costs ----------------------------------------------------------------------------------------------------- */
enum { SY_COST_EXACT = 1u }; /* byte counts are exact, not estimates */
typedef struct sy_cost {
  uint32_t size;
  uint32_t flags;
  double flops_forward;      /* floating point operations of one micro-batch */
  double flops_input;        /* backward for the inputs */
  double flops_weight;       /* backward for the weights */
  uint64_t bytes_saved;      /* kept from forward to backward, without the kept inputs and outputs named below */
  uint64_t bytes_held;       /* kept from backward_input to backward_weight: all of it, with inputs and gradients that
                                stay because of it */
  uint64_t bytes_workspace;  /* more that is alive at the worst moment inside forward (outputs not counted) */
  uint64_t bytes_workspace_backward; /* the same inside backward (input gradients not counted) */
  uint64_t keep_in;          /* bit i: input i must stay unchanged until backward; the core keeps and counts it once */
  uint64_t keep_out;         /* bit i: the same for output i */
} sy_cost;

/* ---- binding ------------------------------------------------------------------------------------------------------ */
typedef struct sy_binding {
  uint32_t size;
  uint32_t n_params;
  const sy_view *const *values; /* as declared; addresses stay for the life of the layer, content only counts in calls */
  const sy_view *const *grads;  /* fp32 (or the configured type), same shape: accumulate into it; NULL: not trained */
  sy_device device;
  const sy_origin *origin;
  int64_t threads;              /* CPU threads that calls may use */
} sy_binding;

/* ---- calls: everything that one enqueue needs; nothing is ambient ------------------------------------------------- */
enum {
  SY_CALL_NO_SAVE = 1u,       /* no backward follows: leave *saved NULL */
  SY_CALL_REPLAY = 2u,        /* recompute: the same numbers again, accumulators are left alone */
  SY_CALL_CAPTURE = 4u,       /* the stream is being captured as a graph */
  SY_CALL_LAST_POSITION = 8u, /* FORWARD of a head: predictions of the last position only, [rows, 1, vocabulary] */
  SY_CALL_DETERMINISTIC = 16u,
  SY_CALL_TF32 = 32u
};
typedef struct sy_call {
  uint32_t size;
  uint32_t flags;
  uint32_t kind;              /* SY_TRAIN ... */
  uint32_t micro_batch;       /* counted over the whole optimizer step */
  uint32_t micro_batches;
  uint32_t n_in;
  uint32_t n_out;
  uint32_t param_version;     /* changes whenever values change; for copies derived from them */
  sy_device device;
  sy_stream *stream;
  void *native_stream;        /* cudaStream_t; NULL on the CPU */
  const sy_origin *origin;    /* whom to charge for memory */
  int64_t threads;            /* CPU threads to use */
  int64_t rows;               /* samples of this micro-batch */
  int64_t batch_rows;         /* samples of the whole optimizer step */
  int64_t first_sample;       /* of this micro-batch, within the step's samples */
  uint64_t step;
  uint64_t seed;
  uint64_t layer_key;         /* sy_hash_name(full layer name), see random.h */
  double loss_weight;         /* loss layers: loss scale / valid targets of the whole step */
  /* forward: in = inputs (lend, contiguous), out = outputs, NULL slots: give (any strides). Tensors in `in` are read-only,
   * and stay unchanged until the saved handle that needs them is gone; keep them with sy_host.tensor_keep.
   * backward: in = gradients of the outputs (NULL: none flows), out = gradients of the inputs, wanted where bit i of
   * `want` is set; never into other slots. backward_weight: both empty. */
  sy_tensor *const *in;
  sy_tensor **out;
  uint64_t want;
} sy_call;

/* ---- the table -------------------------------------------------------------------------------------------------- */
enum {
  SY_L_LOSS = 1u,           /* takes the batch's targets as its last input. TRAIN and EVAL give one output, fp32 [2]:
                               the sum of losses over valid targets, and the count of right classes (-1: not classes).
                               TRAIN's forward also makes its input and weight gradients, scaled by loss_weight; its
                               backward (n_in = 0) hands over the input gradient. FORWARD gets no targets and gives
                               the predictions. */
  SY_L_SPLIT_BACKWARD = 2u, /* backward_input and backward_weight exist; backward is one, then the other */
  SY_L_EXACT_MEMORY = 4u,   /* declared byte counts are exact */
  SY_L_CAPTURE_SAFE = 8u
};
typedef struct sy_layer_api {
  uint32_t size;
  uint32_t caps;
  const char *id;
  const char *help;
  const sy_option *const *options;
  uint32_t n_options;
  uint32_t reserved;
  /* No device work.                                                                                            [ctl] */
  sy_rc (*create)(const sy_host *, const sy_config *options, sy_layer **give, sy_error **err);
  /* Shapes and types of the outputs for these inputs. Called for every size that will be met, TRAIN first; widths that
   * follow from the inputs become known here. capacity in, *n_out out; SY_E_RANGE with the needed count.        [ctl] */
  sy_rc (*infer)(sy_layer *, uint32_t kind, sy_port *const *in, uint32_t n_in, sy_port *const *out, uint32_t capacity,
                 uint32_t *n_out, sy_error **err);
  /* Parameter i, after the first infer; SY_E_RANGE with err untouched ends the list.                            [ctl] */
  sy_rc (*params)(sy_layer *, uint32_t i, sy_param *out, sy_error **err);
  sy_rc (*cost)(sy_layer *, uint32_t kind, const sy_port *const *in, uint32_t n_in, sy_cost *out, sy_error **err); /* [ctl] */
  /* The views stay valid for the life of the layer.                                                           [stage] */
  sy_rc (*bind)(sy_layer *, const sy_binding *, sy_error **err);
  sy_rc (*forward)(sy_layer *, const sy_call *, sy_saved **give, sy_error **err);                             /* [stage] */
  sy_rc (*backward)(sy_layer *, const sy_call *, sy_saved *take, sy_error **err);                             /* [stage] */
  sy_rc (*backward_input)(sy_layer *, const sy_call *, sy_saved *lend, sy_error **err);              /* optional [stage] */
  sy_rc (*backward_weight)(sy_layer *, const sy_call *, sy_saved *take, sy_error **err);             /* optional [stage] */
  /* Once per step after the last backward of all stages: accumulators into buffers.                  optional [stage] */
  sy_rc (*finish)(sy_layer *, const sy_call *, sy_error **err);
  void (*free_saved)(sy_layer *, sy_saved *take);                                                             /* [stage] */
  void (*destroy)(sy_layer *take);                                                                   /* NULL is fine [ctl] */
  const void *(*get)(sy_layer *, const char *interface_id);                                            /* optional [any] */
} sy_layer_api;

SY_END
#endif
