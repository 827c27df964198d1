/* switchyard/comm.h - communicators: a group of ranks, each with one device, in one process or in many. Operations only
 * enqueue on a stream of the rank's device, unless they say wait. Plugin kind "sy.comm/0".
 *
 *   rank 0                        every rank                                       all through
 *   make_id ── any transport ───▶ open ─▶ status until it is not SY_E_AGAIN ─▶ send, recv, all_reduce ... ─▶ close
 *                                                     abort ends all of it, from any thread
 *
 * Order: every rank calls the same collective operations in the same order; sends to a rank and receives from it pair up in
 * the order of the calls. One thread at a time calls a communicator, with its device current; status, abort: [any].
 * Waiting: an operation waits on the host where ranks that meet for the first time must first be connected, and always on a
 * device whose streams are synchronous. After an abort, no call waits and each answers SY_E_ABORTED.
 * Views are contiguous, on the rank's device, of fp64, fp32, fp16, bf16, int64, int32 or uint8; they must stay until the
 * stream is done with them. Reductions of fp16 and bf16 may round after each addition. */
#ifndef SWITCHYARD_COMM_H
#define SWITCHYARD_COMM_H

#include "base.h"

SY_BEGIN

#define SY_KIND_COMM "sy.comm/0"

typedef struct sy_comm sy_comm; /* the plugin's own: one rank of one group */

enum { SY_REDUCE_SUM = 1 };

/* How a rank joins a group. */
typedef struct sy_comm_join {
  uint32_t size;
  uint32_t id_bytes;
  const void *id; /* what make_id gave to one of the ranks; each group takes a new one */
  int32_t rank;   /* 0 <= rank < ranks, each once */
  int32_t ranks;
  sy_device device;
} sy_comm_join;

typedef struct sy_comm_api {
  uint32_t size;
  uint32_t caps;
  const char *id;      /* "nccl", "mpi" */
  const char *help;
  const sy_option *const *options;
  uint32_t n_options;
  int32_t device_type; /* SY_DEVICE_* of the views */
  /* The id of a group to be, opaque. SY_E_RANGE: more than capacity bytes, `bytes` tells how many. Any process of those that
   * will join may make it, and must live until all have.                                                          [any] */
  sy_rc (*make_id)(const sy_host *, const sy_config *options, void *out, uint32_t capacity, uint32_t *bytes, sy_error **err);
  /* Begins to join, and does not wait for the others. options NULL: the defaults.                                 [any] */
  sy_rc (*open)(const sy_host *, const sy_config *options, const sy_comm_join *, sy_comm **give, sy_error **err);
  /* SY_E_AGAIN: not all are there yet. SY_OK: operations may be called, and none failed so far. Else what became of the group,
   * of failures on the device too: ask now and then while waiting for a stream.                                   [any] */
  sy_rc (*status)(sy_comm *, sy_error **err);
  /* Nothing of the group runs any more on this rank, however long that takes others; whoever waits for the stream or in a call
   * goes on within seconds, and what was under way is undefined. Other ranks are not told: abort each. Again: does nothing. [any] */
  sy_rc (*abort)(sy_comm *, sy_error **err);
  /* To be called by every rank when its streams are done; waits for those on the same host, for seconds at most. NULL is fine.
   * An aborted or failed one waits for nobody. No other call may be under way. */
  void (*close)(sy_comm *take);

  sy_rc (*send)(sy_comm *, const sy_view *from, int32_t to_rank, sy_stream *, void *native_stream, sy_error **err);
  sy_rc (*recv)(sy_comm *, const sy_view *to, int32_t from_rank, sy_stream *, void *native_stream, sy_error **err);
  /* Same count on all ranks; `to` may be `from`. All ranks receive the same bits. */
  sy_rc (*all_reduce)(sy_comm *, const sy_view *to, const sy_view *from, int32_t op, sy_stream *, void *native_stream,
                      sy_error **err);
  /* from: ranks x count elements; to: count of them, the piece of this rank's number. `to` may be that piece of `from`; it may
   * overlap nothing else of it. */
  sy_rc (*reduce_scatter)(sy_comm *, const sy_view *to, const sy_view *from, int32_t op, sy_stream *, void *native_stream,
                          sy_error **err);
  /* from: count elements; to: ranks x count, in the order of ranks. `from` may be the piece of this rank's number. */
  sy_rc (*all_gather)(sy_comm *, const sy_view *to, const sy_view *from, sy_stream *, void *native_stream, sy_error **err);
  /* The root's values to all. */
  sy_rc (*broadcast)(sy_comm *, const sy_view *both, int32_t root, sy_stream *, void *native_stream, sy_error **err);
  /* Sends and receives between the two begin together, so that ranks may send to each other, or a rank to itself, without
   * waiting in turn. Nothing else may be called in between, and all name one stream. On an error of group_end, none counts. */
  sy_rc (*group_begin)(sy_comm *, sy_error **err);
  sy_rc (*group_end)(sy_comm *, sy_error **err);
  const void *(*get)(sy_comm *, const char *interface_id); /* optional                                             [any] */
} sy_comm_api;

SY_END
#endif
