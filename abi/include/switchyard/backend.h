/* switchyard/backend.h - backends: devices, memory, streams, events, copies. All calls only enqueue unless they say wait.
 * Plugin kind "sy.backend/0". */
#ifndef SWITCHYARD_BACKEND_H
#define SWITCHYARD_BACKEND_H

#include "base.h"
#include "decide.h"

SY_BEGIN

#define SY_KIND_BACKEND "sy.backend/0"

typedef struct sy_backend sy_backend; /* the plugin's own, one per runtime */
typedef struct sy_event sy_event;     /* the backend's own: a marker in a stream */

enum { SY_B_PEER = 1u, SY_B_TIMED_EVENTS = 2u, SY_B_CAPTURE = 4u, SY_B_LOGICAL = 8u, /* any number of devices can be asked for */
       SY_B_DECIDES = 16u /* can train: it has `decide` */ };

typedef struct sy_device_info {
  uint32_t size;
  uint32_t caps;
  sy_device device;
  uint64_t bytes_total; /* 0: unknown */
  uint64_t bytes_free;
  double flops;         /* per second in fp32; 0: unknown */
  char name[96];        /* "cpu:0", "cuda:1" go without saying; this is the maker's name */
  char bus_id[32];
  char uuid[48];
} sy_device_info;

/* A captured graph of one stream's work. */
typedef struct sy_graph sy_graph;

typedef struct sy_backend_api {
  uint32_t size;
  uint32_t caps;
  const char *id;       /* "cpu", "cuda": the word before the colon in device names */
  const char *help;
  const sy_option *const *options;
  uint32_t n_options;
  int32_t device_type;  /* SY_DEVICE_* of its devices */
  sy_rc (*open)(const sy_host *, const sy_config *options, sy_backend **give, sy_error **err);               /* [ctl] */
  void (*close)(sy_backend *take);                                                             /* NULL is fine [ctl] */
  /* Devices that are there (logical backends answer for any index); SY_E_RANGE with err untouched ends the list. [any] */
  sy_rc (*device)(sy_backend *, uint32_t i, sy_device_info *out, sy_error **err);
  /* Makes a device current for this thread, and back. The core calls them around every plugin and API call.       [any] */
  sy_rc (*enter)(sy_backend *, sy_device, uint64_t *token, sy_error **err);
  void (*leave)(sy_backend *, uint64_t token);
  /* Memory in stream order, at least 256-byte aligned.                                                            [any] */
  sy_rc (*alloc)(sy_backend *, sy_device, uint64_t bytes, sy_stream *, void **give, sy_error **err);
  void (*free)(sy_backend *, sy_device, void *take, sy_stream *);
  /* Host memory that copies run from and to without staging.                                                      [any] */
  sy_rc (*host_alloc)(sy_backend *, uint64_t bytes, void **give, sy_error **err);
  void (*host_free)(sy_backend *, void *take);
  sy_rc (*stream_new)(sy_backend *, sy_device, sy_stream **give, sy_error **err);                                /* [any] */
  void (*stream_free)(sy_backend *, sy_stream *take);
  void *(*stream_native)(sy_backend *, sy_stream *);                                                            /* [any] */
  sy_rc (*stream_wait)(sy_backend *, sy_stream *, sy_event *, sy_error **err); /* later work waits for the event    [any] */
  sy_rc (*stream_sync)(sy_backend *, sy_stream *, sy_error **err);             /* waits                             [any] */
  sy_rc (*event_new)(sy_backend *, sy_device, int32_t timed, sy_event **give, sy_error **err);                  /* [any] */
  void (*event_free)(sy_backend *, sy_event *take);
  sy_rc (*event_record)(sy_backend *, sy_event *, sy_stream *, sy_error **err);
  sy_rc (*event_sync)(sy_backend *, sy_event *, sy_error **err);               /* waits                             [any] */
  sy_rc (*event_ready)(sy_backend *, sy_event *, sy_error **err);              /* SY_E_AGAIN: not yet               [any] */
  sy_rc (*event_seconds)(sy_backend *, sy_event *from, sy_event *to, double *out, sy_error **err); /* both ready, timed */
  /* Same shape and type, any strides; source and destination on any device of this backend or the host (a view whose
   * device is type SY_DEVICE_CPU). On a stream of the destination's device, or of the source's for copies to the host. */
  sy_rc (*copy)(sy_backend *, const sy_view *to, const sy_view *from, sy_stream *, sy_error **err);
  /* Same shape, float types, contiguous: round to nearest even. */
  sy_rc (*cast)(sy_backend *, const sy_view *to, const sy_view *from, sy_stream *, sy_error **err);
  sy_rc (*fill_zero)(sy_backend *, const sy_view *to, sy_stream *, sy_error **err);                     /* contiguous */
  /* to += from, element by element, in `to`'s type (from may be of another float type); contiguous. */
  sy_rc (*accumulate)(sy_backend *, const sy_view *to, const sy_view *from, sy_stream *, sy_error **err);
  /* optional: everything enqueued between begin and end becomes a graph that can be launched again. */
  sy_rc (*capture_begin)(sy_backend *, sy_stream *, sy_error **err);
  sy_rc (*capture_end)(sy_backend *, sy_stream *, sy_graph **give, sy_error **err);
  sy_rc (*graph_launch)(sy_backend *, sy_graph *, sy_stream *, sy_error **err);
  void (*graph_free)(sy_backend *, sy_graph *take);
  const void *(*get)(sy_backend *, const char *interface_id); /* optional                                        [any] */
  /* sy_decide_here of decide.h, on the stream. */
  sy_rc (*decide)(sy_backend *, const sy_decide *, sy_stream *, sy_error **err);
} sy_backend_api;

SY_END
#endif
