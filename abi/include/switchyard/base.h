/* switchyard/base.h - what may cross a shared-library border: plain data, opaque handles, tables of functions.
 *
 * Rules for every declaration in these headers
 *   R1  A struct passed by pointer begins with `size` (bytes its writer knows) and grows only at its end. A reader takes
 *       min(size) into a zeroed copy; nobody compares sizes for equality. Whoever asks for a struct to be filled sets
 *       `size` and zeroes the rest; whoever fills it writes content within `size`.
 *   R2  Growable structs are never embedded by value nor laid in arrays by value: pointers, or arrays of pointers.
 *       sy_device, sy_dtype and sy_view have no size and are frozen.
 *   R3  Text is UTF-8 and ends with NUL.
 *   R4  Ownership words: take = the callee becomes owner, on every return, also on error; give = the caller becomes
 *       owner; lend = valid until the call returns (or as long as the comment says).
 *   R5  Thread tags: [any] any thread, concurrently; [ctl] the thread that called the application API; [stage] one thread
 *       at a time per layer instance, not always the same one.
 *   R6  Nothing may throw, longjmp, exit or abort across the border. A function returns a code; its text is an error made
 *       by sy_host.fail, last parameter, which may be NULL. On error every other output is untouched.
 */
#ifndef SWITCHYARD_BASE_H
#define SWITCHYARD_BASE_H

#include <stdint.h>

#ifdef __cplusplus
#define SY_BEGIN extern "C" {
#define SY_END }
#else
#define SY_BEGIN
#define SY_END
#endif
#if defined(__GNUC__)
#define SY_EXPORT __attribute__((visibility("default")))
#else
#define SY_EXPORT
#endif

SY_BEGIN

/* While the major is 0 the loader demands an equal minor; from 1.0 on a newer minor is accepted. */
#define SY_ABI_MAJOR 0u
#define SY_ABI_MINOR 1u

/* ---- codes ------------------------------------------------------------------------------------------------------ */
typedef int32_t sy_rc;
enum {
  SY_OK = 0,
  SY_E_CANCELLED = 1,      /* asked to stop */
  SY_E_UNKNOWN = 2,        /* an exception that carries no text */
  SY_E_ARGUMENT = 3,       /* an argument of the call is wrong */
  SY_E_TIMEOUT = 4,
  SY_E_NOT_FOUND = 5,
  SY_E_EXISTS = 6,
  SY_E_DENIED = 7,
  SY_E_NO_MEMORY = 8,      /* host memory, or a device's budget */
  SY_E_STATE = 9,          /* not now: wrong order of calls, or the pipe is poisoned */
  SY_E_ABORTED = 10,       /* another stage failed first */
  SY_E_RANGE = 11,         /* end of a list, or a capacity too small (the needed count is then given) */
  SY_E_UNIMPLEMENTED = 12, /* an optional slot that is empty */
  SY_E_INTERNAL = 13,
  SY_E_UNAVAILABLE = 14,
  SY_E_DATA = 15,          /* a file's or batch's content is wrong */
  SY_E_ABI = 64,           /* plugin and core do not fit together */
  SY_E_CONFIG = 65,        /* the configuration is wrong */
  SY_E_INFEASIBLE = 66,    /* nothing fits the budgets */
  SY_E_DEVICE = 67,        /* the device failed; its pipe is poisoned */
  SY_E_COMM = 68,
  SY_E_AGAIN = 69          /* not ready yet; ask again */
};

/* ---- handles ---------------------------------------------------------------------------------------------------- */
typedef struct sy_error sy_error;   /* made by the core only (sy_host.fail) */
typedef struct sy_config sy_config; /* one checked table of options; lent */
typedef struct sy_tensor sy_tensor; /* counted; made by the core only */
typedef struct sy_text sy_text;     /* a growing string of the core's; lent */
typedef struct sy_origin sy_origin; /* who is charged for memory: one device of one runtime; lives as long as the process */
typedef struct sy_stream sy_stream; /* a backend's queue of work */
struct DLManagedTensorVersioned;    /* DLPack 1.x, by tag: its header need not be included */

/* ---- devices, types, views: equal byte for byte to DLPack's DLDevice, DLDataType, DLTensor; frozen --------------- */
enum { SY_DEVICE_CPU = 1, SY_DEVICE_CUDA = 2 };
enum { SY_INT = 0, SY_UINT = 1, SY_FLOAT = 2, SY_BFLOAT = 4, SY_BOOL = 6 };
typedef struct sy_device {
  int32_t type;  /* SY_DEVICE_* */
  int32_t index; /* logical CPU devices are numbered like GPUs */
} sy_device;
typedef struct sy_dtype {
  uint8_t code; /* SY_INT ... */
  uint8_t bits;
  uint16_t lanes; /* 1 */
} sy_dtype;
typedef struct sy_view {
  void *data;
  sy_device device;
  int32_t ndim;
  sy_dtype dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; never NULL when ndim > 0 */
  uint64_t byte_offset;
} sy_view;

/* ---- options that a plugin publishes; the core checks the user's table against them before create ---------------- */
enum { SY_T_BOOL = 1, SY_T_I64 = 2, SY_T_F64 = 3, SY_T_STR = 4, SY_T_I64S = 5, SY_T_F64S = 6, SY_T_STRS = 7 };
typedef struct sy_option {
  uint32_t size;
  uint32_t type;                /* SY_T_*; the ones that end in S are lists */
  const char *key;
  const char *fallback;         /* default as TOML text; NULL: required */
  double min, max;              /* inclusive range of numbers and list items; min > max: none */
  const char *const *choices;   /* allowed strings, ended by NULL; NULL: any */
  const char *unit;             /* NULL: none */
  const char *help;             /* one line */
} sy_option;

/* ---- what the core offers to plugins: one table per process --------------------------------------------------------- */
typedef struct sy_host {
  uint32_t size;
  uint32_t abi_minor;
  void *self;
  const char *core_version;
  /* Makes *err (when err is not NULL and *err is NULL) from a copy of message and returns code.                [any] */
  sy_rc (*fail)(void *self, sy_error **err, sy_rc code, const char *message);
  /* Adds a fact (key "layer", "expected", ...) to an error; an existing key keeps its first value.             [any] */
  void (*note)(void *self, sy_error *err, const char *key, const char *value);
  /* level: 0 trace, 1 debug, 2 info, 3 warning, 4 error. origin may be NULL.                                   [any] */
  void (*log)(void *self, const sy_origin *origin, int32_t level, const char *where, const char *message);
  /* Host memory that changes owner across the border; align is a power of two.                                 [any] */
  void *(*alloc)(void *self, uint64_t bytes, uint64_t align);
  void (*free)(void *self, void *memory);
  /* Charges (bytes > 0) or returns (bytes < 0) memory that a plugin took by itself. SY_E_NO_MEMORY: over the
   * device's budget, nothing was charged.                                                                     [any] */
  sy_rc (*charge)(void *self, const sy_origin *origin, int64_t bytes, sy_error **err);
  /* Typed getters of a checked table; defaults are filled in. SY_E_NOT_FOUND: no such option published.        [ctl] */
  sy_rc (*cfg_bool)(const sy_config *, const char *key, int32_t *out, sy_error **err);
  sy_rc (*cfg_i64)(const sy_config *, const char *key, int64_t *out, sy_error **err);
  sy_rc (*cfg_f64)(const sy_config *, const char *key, double *out, sy_error **err);
  sy_rc (*cfg_str)(const sy_config *, const char *key, const char **lend, sy_error **err); /* lent until create returns */
  sy_rc (*cfg_count)(const sy_config *, const char *key, uint32_t *out, sy_error **err);   /* items of a list */
  sy_rc (*cfg_i64_at)(const sy_config *, const char *key, uint32_t index, int64_t *out, sy_error **err);
  sy_rc (*cfg_f64_at)(const sy_config *, const char *key, uint32_t index, double *out, sy_error **err);
  sy_rc (*cfg_str_at)(const sy_config *, const char *key, uint32_t index, const char **lend, sy_error **err);
  int32_t (*cfg_given)(const sy_config *, const char *key); /* 1: the user wrote it; 0: it is the default */
  /* A tensor over memory of the plugin's own; drop(owner) is called once, on any thread, after the last use.
   * owner: take.                                                                                              [any] */
  sy_rc (*tensor_wrap)(void *self, const sy_view *view, void *owner, void (*drop)(void *owner), sy_tensor **give,
                       sy_error **err);
  const sy_view *(*tensor_view)(const sy_tensor *); /* lend: as long as the tensor lives                         [any] */
  void (*tensor_keep)(sy_tensor *);                 /* count + 1                                                [any] */
  void (*tensor_drop)(sy_tensor *);                 /* count - 1; NULL is fine                                  [any] */
  void (*text_add)(sy_text *, const char *utf8);
  /* Optional interfaces by name, such as "sy.host.trace/1"; NULL: not offered.                                 [any] */
  const void *(*get)(void *self, const char *interface_id);
} sy_host;

SY_END
#endif
