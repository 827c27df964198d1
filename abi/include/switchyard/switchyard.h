/* switchyard/switchyard.h - what an application calls, in any language: functions of libswitchyard.so.1, opaque handles,
 * nothing to fill but options.
 *
 *   runtime ──▶ plan ──▶ pipe ──▶ step, evaluate, forward, parameters, save, load
 *      │       no device   weights are placed, one thread per device
 *      └────▶ train, evaluate, generate, compare, inspect: whole jobs, whose result is JSON text
 *
 * The rules of base.h hold. Beyond them:
 *   A1  A NULL or dead handle and a NULL argument that is needed are SY_E_ARGUMENT. Closing or freeing NULL is fine.
 *   A2  An error parameter may be NULL. Otherwise it points to a pointer that is NULL; it stays NULL on success, and on
 *       failure it gives an error that sy_error_free frees. Every other output is untouched then.
 *   A3  Text that is given is freed by sy_free. Text outputs of whole jobs may be NULL where the text is not wanted.
 *   A4  [ctl]: one thread at a time for each runtime with everything that was made from it. Several runtimes may be used
 *       from several threads at once, and closed in any order, also before their plans and pipes.
 *   A5  Callbacks run on the thread that called, with the user pointer that stood beside them; none may call back into
 *       the runtime it came from, except for functions marked [any].
 *   A6  A handle is of use only in the process that made it: after fork() the child gets SY_E_STATE, and closing is safe.
 *   A7  A double that does not apply (no accuracy, nothing held out) is NaN.
 */
#ifndef SWITCHYARD_H
#define SWITCHYARD_H

#include "base.h"

SY_BEGIN

struct sy_plugin; /* plugin.h; only sy_plugin_register needs it */

typedef struct sy_runtime sy_runtime; /* one configuration, and the plugins that it may use */
typedef struct sy_plan sy_plan;       /* which layer sits where and what each device does in which order */
typedef struct sy_pipe sy_pipe;       /* a plan on its devices */

/* ---- before anything; never touches a device ------------------------------------------------------------------- */
SY_EXPORT const char *sy_version(void); /* "0.1.0"; lend: for ever                                              [any] */
/* What this library speaks; compare with SY_ABI_MAJOR and SY_ABI_MINOR. Either may be NULL.                     [any] */
SY_EXPORT void sy_abi(uint32_t *major, uint32_t *minor);

/* ---- errors and text -------------------------------------------------------------------------------------------- */
SY_EXPORT sy_rc sy_error_code(const sy_error *); /* SY_OK for NULL                                               [any] */
/* One line for each mistake; "" for NULL. lend: as long as the error lives.                                     [any] */
SY_EXPORT const char *sy_error_text(const sy_error *);
/* A fact: "layer", "stage", "device", "micro_batch", "plugin", ...; "phase" is "running" once weights are placed. NULL:
 * no such fact. lend: as long as the error lives.                                                              [any] */
SY_EXPORT const char *sy_error_note(const sy_error *, const char *key);
/* The keys of its facts by number; NULL ends the list. lend: as long as the error lives.                        [any] */
SY_EXPORT const char *sy_error_note_key(const sy_error *, uint32_t index);
SY_EXPORT void sy_error_free(sy_error *take); /*                                                                 [any] */
SY_EXPORT const char *sy_code_name(sy_rc);    /* "SY_E_CONFIG"; NULL: no such code; lend: for ever               [any] */
SY_EXPORT void sy_free(char *take);           /* text that a function gave                                       [any] */

/* Where log lines of this process go; level: 0 trace, 1 debug, 2 info, 3 warning, 4 error. Called one line at a time, on
 * whatever thread has something to say. A NULL sink restores the default: warnings and errors to stderr.       [any] */
SY_EXPORT void sy_log_sink(void (*sink)(void *user, int32_t level, const char *where, const char *text), void *user);

/* ---- runtime ---------------------------------------------------------------------------------------------------- */
typedef struct sy_runtime_options {
  uint32_t size;
  uint32_t n_sets;
  const char *config;      /* path of a TOML file, or of a run's folder; NULL: see text */
  const char *text;        /* the TOML itself; NULL with config NULL: no configuration, for the functions about plugins */
  const char *folder;      /* what relative paths in text are relative to; NULL: the current folder */
  const char *const *sets; /* n_sets of "KEY=VALUE", as --set takes them */
  int32_t rank;            /* of this process; 0 */
  int32_t ranks;           /* processes that work together; 0 or 1: this one alone. More: SY_E_UNIMPLEMENTED yet */
  const char *rendezvous;  /* where they meet; NULL */
} sy_runtime_options;

/* Reads and checks the configuration and looks for plugins. options: NULL is one with zeroes. A configuration with
 * mistakes: SY_E_CONFIG with a line for each of them, at most 20.                                               [any] */
SY_EXPORT sy_rc sy_runtime_open(const sy_runtime_options *options, sy_runtime **give, sy_error **err);
SY_EXPORT void sy_runtime_close(sy_runtime *take); /*                                                            [ctl] */
/* Loads a plugin file for this runtime. Twice is fine.                                                          [ctl] */
SY_EXPORT sy_rc sy_plugin_load(sy_runtime *, const char *path, sy_error **err);
/* Adds a plugin whose table lives in the host program, for as long as the process.                              [ctl] */
SY_EXPORT sy_rc sy_plugin_register(sy_runtime *, const struct sy_plugin *lend, sy_error **err);

/* {"searched":[...],"plugins":[{"path","id","state","reason","provides":[...]}]}: what was looked at, and what became of
 * it.                                                                                                          [ctl] */
SY_EXPORT sy_rc sy_plugins(sy_runtime *, char **give_json, sy_error **err);
/* {"backends":[{"name","devices":[{"name","maker_name","bytes_total","bytes_free","bus_id","uuid","flops"}],"logical",
 * "reason"}]}: a backend that is not there, or has no device, has a reason.                                     [ctl] */
SY_EXPORT sy_rc sy_devices(sy_runtime *, char **give_json, sy_error **err);
/* name NULL: {"layers":[names],"policies","schedules","optimizers","backends"}. Else [{"kind","name","help","plugin",
 * "options":[{"key","wanted","default","unit","help","required"}]}], one item for each kind that has the name; unknown:
 * SY_E_CONFIG with the nearest one.                                                                             [ctl] */
SY_EXPORT sy_rc sy_describe(sy_runtime *, const char *name, char **give_json, sy_error **err);
/* All values in effect, each with its origin as a comment; opening the text gives the same configuration.       [ctl] */
SY_EXPORT sy_rc sy_config_print(sy_runtime *, char **give_toml, sy_error **err);

/* ---- plan: computed without allocating anything --------------------------------------------------------------- */
/* SY_E_INFEASIBLE: a budget is exceeded; the text names the layer and what helps.                               [ctl] */
SY_EXPORT sy_rc sy_plan_make(sy_runtime *, sy_plan **give, sy_error **err);
SY_EXPORT void sy_plan_free(sy_plan *take); /*                                                                   [ctl] */
/* Times layers (with each micro-batch size that "auto" may choose), updates and hand-overs on the plan's devices, adds them to CONFIG.costs.json beside the configuration,
 * and plans anew from them. SY_E_CONFIG: a device is not here; SY_E_STATE: its pipe is built already.           [ctl] */
SY_EXPORT sy_rc sy_plan_measure(sy_plan *, sy_error **err);
SY_EXPORT sy_rc sy_plan_text(sy_plan *, char **give_text, sy_error **err); /* for people                         [ctl] */
SY_EXPORT sy_rc sy_plan_json(sy_plan *, char **give_json, sy_error **err); /* core/plan/README.md                [ctl] */
/* A page for a browser, which needs no other file: time, memory, edges and costs, with the JSON inside.         [ctl] */
SY_EXPORT sy_rc sy_plan_html(sy_plan *, char **give_html, sy_error **err);
/* Trace events of one pass as the plan expects it, for ui.perfetto.dev.                                         [ctl] */
SY_EXPORT sy_rc sy_plan_trace(sy_plan *, char **give_json, sy_error **err);
/* Every policy x schedule x micro-batch count x recompute, planned and simulated, the best first: a table for people, JSON
 * (core/plan/README.md), a picture (SVG). Each may be NULL. measure: first sy_plan_measure's work, for every micro-batch size
 * that is compared.                                                                                             [ctl] */
SY_EXPORT sy_rc sy_plan_sweep(sy_runtime *, int32_t measure, char **give_text, char **give_json, char **give_svg, sy_error **err);
/* What each device does in which order, for schedule.type = "file": core/schedule/README.md                     [ctl] */
SY_EXPORT sy_rc sy_plan_schedule(sy_plan *, char **give_text, sy_error **err);
/* Arrays: capacity in, count out. SY_E_RANGE: more than capacity; count is the needed number then. out may be NULL with
 * capacity 0.                                                                                                   [ctl] */
SY_EXPORT sy_rc sy_plan_stage_of_layer(sy_plan *, int32_t *out, uint32_t capacity, uint32_t *count, sy_error **err);
SY_EXPORT sy_rc sy_plan_device_of_stage(sy_plan *, int32_t *out, uint32_t capacity, uint32_t *count, sy_error **err);
/* Names by number; SY_E_RANGE ends the list. lend: as long as the plan lives.                                   [ctl] */
SY_EXPORT sy_rc sy_plan_layer_name(sy_plan *, uint32_t layer, const char **lend, sy_error **err);
SY_EXPORT sy_rc sy_plan_device_name(sy_plan *, uint32_t device, const char **lend, sy_error **err);

/* ---- pipe: for programs that bring their own batches ----------------------------------------------------------- */
/* Places the weights of the plan's configuration and starts one thread per device. The plan is lent for the call. [ctl] */
SY_EXPORT sy_rc sy_pipe_build(sy_plan *, sy_pipe **give, sy_error **err);
SY_EXPORT void sy_pipe_close(sy_pipe *take); /*                                                                  [ctl] */

typedef struct sy_step_result {
  uint32_t size;
  uint32_t skipped;   /* 1: a gradient was not finite; nothing changed but the loss scale */
  int64_t step;       /* optimizer steps done; those before a resume count */
  int64_t valid;      /* targets that counted */
  double loss;        /* sum over valid targets / valid targets, before the update */
  double accuracy;    /* where targets are classes, else NaN */
  double grad_norm;   /* before clipping; NaN after sy_pipe_evaluate */
  double lr;          /* NaN after sy_pipe_evaluate */
  double loss_scale;
} sy_step_result;

/* One optimizer step. inputs, targets: on the host, lent, any strides; dimension 0 counts samples, train.batch of them or
 * fewer. Integers of any width may stand for ids, any float type for numbers. result may be NULL. A failing step changes
 * nothing, and the pipe stays usable unless a device failed.                                                   [ctl] */
SY_EXPORT sy_rc sy_pipe_step(sy_pipe *, const sy_view *inputs, const sy_view *targets, sy_step_result *result,
                             sy_error **err);
/* The loss in evaluation mode, of any number of samples. Nothing changes.                                       [ctl] */
SY_EXPORT sy_rc sy_pipe_evaluate(sy_pipe *, const sy_view *inputs, const sy_view *targets, sy_step_result *result,
                                 sy_error **err);
/* Sums of losses of the last step or evaluation, one for each micro-batch in order. Arrays as above.           [ctl] */
SY_EXPORT sy_rc sy_pipe_micro_losses(sy_pipe *, double *out, uint32_t capacity, uint32_t *count, sy_error **err);

enum { SY_FORWARD_LAST = 1u }; /* only of the last position */
/* Predictions: the loss layer's input as scores, fp32 on the host; drop with sy_tensor_drop.                    [ctl] */
SY_EXPORT sy_rc sy_pipe_forward(sy_pipe *, const sy_view *inputs, uint32_t flags, sy_tensor **give, sy_error **err);

enum { SY_P_WEIGHT = 0, SY_P_BUFFER = 1, SY_P_ACCUMULATOR = 2, SY_P_CACHE = 3 };
typedef struct sy_parameter {
  uint32_t size;
  uint32_t kind;      /* SY_P_* */
  uint32_t trainable; /* 1: the optimizer changes it */
  int32_t owner;      /* tied: the parameter whose value it shares; else -1 */
  int32_t device;     /* where its value lies, numbered as in the plan */
  sy_dtype dtype;     /* of sy_pipe_read and sy_pipe_write: fp32 for weights, a buffer's own type */
  int32_t ndim;
  uint32_t reserved;
  int64_t shape[8];
  uint64_t bytes;     /* of sy_pipe_read and sy_pipe_write */
  const char *name;   /* "h.3.attn.qkv.weight"; lend: as long as the pipe lives */
} sy_parameter;

SY_EXPORT sy_rc sy_pipe_parameter_count(sy_pipe *, uint32_t *count, sy_error **err); /*                          [ctl] */
/* Parameter by number, in the order of the model; SY_E_RANGE ends the list.                                     [ctl] */
SY_EXPORT sy_rc sy_pipe_parameter(sy_pipe *, uint32_t index, sy_parameter *out, sy_error **err);
/* Its number; SY_E_NOT_FOUND.                                                                                   [ctl] */
SY_EXPORT sy_rc sy_pipe_find(sy_pipe *, const char *name, uint32_t *index, sy_error **err);
/* The whole value, row-major. bytes must be sy_parameter.bytes.                                                 [ctl] */
SY_EXPORT sy_rc sy_pipe_read(sy_pipe *, uint32_t index, void *to, uint64_t bytes, sy_error **err);
SY_EXPORT sy_rc sy_pipe_write(sy_pipe *, uint32_t index, const void *from, uint64_t bytes, sy_error **err);
/* The summed gradient of the last step, fp32, before clipping. SY_E_STATE: it is not trained.                   [ctl] */
SY_EXPORT sy_rc sy_pipe_read_gradient(sy_pipe *, uint32_t index, float *to, uint64_t count, sy_error **err);
/* Weights, optimizer states and counters in a folder, for any plan. SY_E_UNAVAILABLE: another save is writing.   [ctl] */
SY_EXPORT sy_rc sy_pipe_save(sy_pipe *, const char *folder, sy_error **err);
SY_EXPORT sy_rc sy_pipe_load(sy_pipe *, const char *folder, sy_error **err);
/* {"devices":[{"name","planned","measured"}]}: peak bytes since the pipe was built.                             [ctl] */
SY_EXPORT sy_rc sy_pipe_peaks(sy_pipe *, char **give_json, sy_error **err);
/* Ends the step that is going on: it is dropped, and its call returns SY_E_CANCELLED. Not after sy_pipe_close.   [any] */
SY_EXPORT sy_rc sy_pipe_cancel(sy_pipe *, sy_error **err);

/* ---- whole jobs ------------------------------------------------------------------------------------------------- */
typedef struct sy_peak {
  uint32_t size;
  uint32_t reserved;
  const char *device;
  uint64_t planned; /* bytes */
  uint64_t measured;
} sy_peak;

/* The state of a run after a step; lent for the callback. */
typedef struct sy_report {
  uint32_t size;
  uint32_t skipped;      /* fp16: nothing changed but the loss scale */
  int64_t step;          /* counts from 1 */
  int64_t steps;         /* of the whole run */
  int64_t tokens;        /* or samples, learnt from since step 1 */
  double loss;           /* before the update */
  double grad_norm;
  double lr;
  double loss_scale;     /* fp16, else NaN */
  double accuracy;
  double val_loss;       /* where measured after this step */
  double val_accuracy;
  double tokens_per_s;
  double seconds;        /* since training began */
  double seconds_left;   /* estimate */
  uint32_t counts_tokens; /* 0: tokens are samples */
  uint32_t n_peaks;
  const sy_peak *const *peaks; /* one for each device */
} sy_report;

enum { SY_TRAIN_NO_FILES = 1u }; /* nothing is written */
typedef struct sy_train_options {
  uint32_t size;
  uint32_t flags;
  const char *out;    /* the run's folder; NULL: runs/STEM-001, counted up, or that of resume */
  const char *resume; /* folder of the run to go on from; NULL: from the first weights */
  int64_t at_most;    /* ends after so many steps of this call; 0: train.steps */
  void *user;         /* for the callbacks, each of which may be NULL; text and reports are lent for the call */
  void (*on_plan)(void *user, const char *text, const char *json);
  int32_t (*on_step)(void *user, const sy_report *);   /* after every step; not 0: stop, with a checkpoint */
  int32_t (*on_report)(void *user, const sy_report *); /* at train.report_every and when val_loss was measured; the same */
  void (*on_event)(void *user, const char *line);      /* "checkpoint of step 200: ...", "warning: ..." */
  const char *trace; /* file for trace events of the first steps after a warm-up, as they were measured; NULL: none */
} sy_train_options;

/* Trains as the configuration says. Result: {"folder","step","stopped","seconds","loss","val_loss","val_accuracy",
 * "unit","peaks":[{"name","planned","measured"}],"sample_before","sample_after"}; absent where it does not apply. options: NULL
 * is one with zeroes. [ctl] */
SY_EXPORT sy_rc sy_train(sy_runtime *, const sy_train_options *options, char **give_json, sy_error **err);
/* {"loss","valid","samples","accuracy","perplexity","nats_per_byte"} of the held-out part.                      [ctl] */
SY_EXPORT sy_rc sy_evaluate(sy_runtime *, char **give_json, sy_error **err);

/* Which fields of sy_generate_options count; the others come from [generate]. */
enum { SY_G_TOKENS = 1u, SY_G_TEMPERATURE = 2u, SY_G_TOP_K = 4u, SY_G_TOP_P = 8u, SY_G_SEED = 16u };
typedef struct sy_generate_options {
  uint32_t size;
  uint32_t given;       /* SY_G_* */
  const char *prompt;   /* NULL: generate.prompt */
  const char *stop;     /* the text ends before this; NULL: no such text */
  const char *overflow; /* "slide", "stop", "error"; NULL: generate.overflow */
  int64_t tokens;
  double temperature;
  int64_t top_k;
  double top_p;
  uint64_t seed;
  void *user;
  int32_t (*on_text)(void *user, const char *piece); /* each piece of whole characters as it comes; not 0: ends there */
} sy_generate_options;

/* {"prompt","text","ids","prompt_tokens","end","seconds"}. options: NULL is one with zeroes.                     [ctl] */
SY_EXPORT sy_rc sy_generate(sy_runtime *, const sy_generate_options *options, char **give_json, sy_error **err);
/* Some steps on the plan and on one device, compared bit for bit. A difference is no error: {"equal","steps","numbers",
 * "devices","one_device","difference":{...}}.                                                                   [ctl] */
SY_EXPORT sy_rc sy_compare(sy_runtime *, int64_t steps, char **give_text, char **give_json, sy_error **err);
typedef struct sy_bench_options {
  uint32_t size;
  uint32_t reserved;
  int64_t steps;     /* timed; 0: 10 */
  int64_t warm_up;   /* before them */
  double peak_flops; /* per second that one device can do in the run's type, for the MFU; 0: unknown */
} sy_bench_options;

/* Steps on random batches, for speed; nothing is kept: {"seconds":[...],"median_s","samples_per_s","tokens_per_s","flops",
 * "mfu","devices":[{"name","planned","measured","idle"}]}; absent where it does not apply. options: NULL is one with
 * zeroes.                                                                                                       [ctl] */
SY_EXPORT sy_rc sy_bench(sy_runtime *, const sy_bench_options *options, char **give_text, char **give_json, sy_error **err);
/* Every tensor of the runtime's configuration or run, or (path not NULL) of a safetensors file, a configuration or a run:
 * {"tensors":[{"name","shape","dtype","kind","trainable","device","alias_of","sha256"}],"devices","parameters",...}. [ctl] */
SY_EXPORT sy_rc sy_inspect(sy_runtime *, const char *path, char **give_text, char **give_json, sy_error **err);

/* ---- plugins under test ------------------------------------------------------------------------------------------ */
typedef struct sy_check_options {
  uint32_t size;
  uint32_t n_sets;
  const char *const *sets;   /* n_sets of "KEY=VALUE": options of what is checked */
  const char *const *inputs; /* n_inputs of "4x8" or "4x6:int64", of layers; none: a few are tried in turn */
  uint32_t n_inputs;
  uint32_t reserved;
  const char *type;          /* "fp64", "fp32", "bf16", "fp16": the only one to compute in; NULL: fp32, and others beside it */
  const char *only;          /* the id of the one thing to check; NULL: all that the file offers */
  void *user;                /* for the callbacks, each of which may be NULL; text is lent for the call */
  void (*on_begin)(void *user, const char *check); /* before each check: if the plugin ends the process, this one did it */
  void (*on_line)(void *user, const char *line);   /* a heading for each thing, then a line for each of its checks */
} sy_check_options;

/* Loads a plugin file and tries out the layers, policies, schedules and optimizers that it offers, on this processor:
 * core/check/README.md. A check that fails is no error: {"failed":n,"subjects":[{"kind","name","with","checks":[{"check",
 * "state","text"}]}]}, state "ok", "failed" or "skipped". The runtime's [plugins] paths count. options: NULL is one with
 * zeroes.                                                                                                       [ctl] */
SY_EXPORT sy_rc sy_plugin_check(sy_runtime *, const char *path, const sy_check_options *options, char **give_json,
                                sy_error **err);

/* ---- tensors ---------------------------------------------------------------------------------------------------- */
/* A counted tensor over a DLPack 1.x tensor; its deleter is called once, after the last use. take. stream: the producer's
 * native stream, NULL on the CPU. Only CPU tensors yet; else SY_E_UNIMPLEMENTED.                                [any] */
SY_EXPORT sy_rc sy_tensor_from_dlpack(struct DLManagedTensorVersioned *take, void *stream, sy_tensor **give,
                                      sy_error **err);
/* A DLPack tensor that keeps this one alive until its deleter is called.                                        [any] */
SY_EXPORT sy_rc sy_tensor_to_dlpack(sy_tensor *, struct DLManagedTensorVersioned **give, sy_error **err);
SY_EXPORT const sy_view *sy_tensor_view(const sy_tensor *); /* lend: as long as the tensor lives; NULL for NULL  [any] */
SY_EXPORT void sy_tensor_keep(sy_tensor *);                 /* count + 1; NULL is fine                           [any] */
SY_EXPORT void sy_tensor_drop(sy_tensor *take);             /* count - 1; NULL is fine                           [any] */

SY_END
#endif
