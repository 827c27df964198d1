// NVIDIA GPUs behind the backend table, with the CUDA runtime alone. Loading the plugin starts nothing; open asks the
// driver which GPUs there are; a GPU's context starts when it is named. Every call makes the device that it is about
// current for its own duration only.

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "backend.hpp"
#include "copy.hpp"
#include "current.hpp"
#include "device_info.hpp"
#include "failure.hpp"
#include "kernels.hpp"
#include "switchyard/cpp/plugin.hpp"
#include "views.hpp"

namespace sy::cuda {
namespace {

/// The stream of the call; without one, the default stream of `device`.
sy_stream stream_or_default(const sy_stream* stream, int device) {
  return stream ? *stream : sy_stream{device, nullptr};
}

// ---- devices ---------------------------------------------------------------------------------------------

constexpr const char* p2p_words[] = {"auto", "off", "force", nullptr};
constexpr sy_option p2p_option = str_option("p2p", "\"auto\"", p2p_words, "copies from GPU to GPU without the host");
constexpr const sy_option* options[] = {&p2p_option};

sy_backend::PeerToPeer p2p_of(const sy_config* config) {
  if (!config) return sy_backend::PeerToPeer::automatic;
  const std::string word = sy::config(config).str("p2p");
  if (word == "off") return sy_backend::PeerToPeer::off;
  return word == "force" ? sy_backend::PeerToPeer::force : sy_backend::PeerToPeer::automatic;
}

sy_rc open(const sy_host*, const sy_config* config, sy_backend** give, sy_error** err) {
  return guard(err, [&] { *give = new sy_backend(p2p_of(config)); });
}
void close(sy_backend* take) { delete take; }

sy_rc device(sy_backend* b, uint32_t i, sy_device_info* out, sy_error** err) {
  if (i >= static_cast<uint32_t>(b->devices())) return SY_E_RANGE;
  return guard(err, [&] { write_within(out, device_info(static_cast<int>(i))); });
}

sy_rc enter(sy_backend* b, sy_device d, uint64_t* token, sy_error** err) {
  return guard(err, [&] { *token = make_current(b->ordinal(d)); });
}
void leave(sy_backend*, uint64_t token) { restore(token); }

// ---- memory ----------------------------------------------------------------------------------------------

sy_rc alloc(sy_backend* b, sy_device d, uint64_t bytes, sy_stream* stream, void** give, sy_error** err) {
  return guard(err, [&] {
    const int device = b->ordinal(d);
    const Current current(device);
    *give = b->allocate(device, bytes, stream_or_default(stream, device).native);
  });
}
void free(sy_backend*, sy_device d, void* take, sy_stream* stream) {
  guard(nullptr, [&] {
    const Current current(d.index);
    cudaFreeAsync(take, stream_or_default(stream, d.index).native);
  });
}

sy_rc host_alloc(sy_backend* b, uint64_t bytes, void** give, sy_error** err) {
  return guard(err, [&] { *give = b->allocate_host(bytes); });
}
void host_free(sy_backend*, void* take) { cudaFreeHost(take); }

// ---- streams and events ----------------------------------------------------------------------------------

sy_rc stream_new(sy_backend* b, sy_device d, sy_stream** give, sy_error** err) {
  return guard(err, [&] {
    auto made = std::make_unique<sy_stream>(sy_stream{b->ordinal(d), nullptr});
    const Current current(made->device);
    must(cudaStreamCreateWithFlags(&made->native, cudaStreamNonBlocking), "making a stream");
    *give = made.release();
  });
}
void stream_free(sy_backend*, sy_stream* take) {
  if (!take) return;
  cudaStreamDestroy(take->native);
  delete take;
}
void* stream_native(sy_backend*, sy_stream* stream) { return stream->native; }

sy_rc stream_wait(sy_backend*, sy_stream* stream, sy_event* event, sy_error** err) {
  return guard(err, [&] {
    const Current current(stream->device);
    must(cudaStreamWaitEvent(stream->native, event->native, 0), "making a stream wait");
  });
}
sy_rc stream_sync(sy_backend*, sy_stream* stream, sy_error** err) {
  return guard(err, [&] { must(cudaStreamSynchronize(stream->native), "waiting for a stream"); });
}

sy_rc event_new(sy_backend* b, sy_device d, int32_t timed, sy_event** give, sy_error** err) {
  return guard(err, [&] {
    auto made = std::make_unique<sy_event>(sy_event{b->ordinal(d), timed != 0, nullptr});
    const Current current(made->device);
    must(cudaEventCreateWithFlags(&made->native, timed ? cudaEventDefault : cudaEventDisableTiming), "making an event");
    *give = made.release();
  });
}
void event_free(sy_backend*, sy_event* take) {
  if (!take) return;
  cudaEventDestroy(take->native);
  delete take;
}
sy_rc event_record(sy_backend*, sy_event* event, sy_stream* stream, sy_error** err) {
  return guard(err, [&] {
    const sy_stream on = stream_or_default(stream, event->device);
    const Current current(event->device);
    must(cudaEventRecord(event->native, on.native), "recording an event");
  });
}
sy_rc event_sync(sy_backend*, sy_event* event, sy_error** err) {
  return guard(err, [&] { must(cudaEventSynchronize(event->native), "waiting for an event"); });
}
sy_rc event_ready(sy_backend*, sy_event* event, sy_error** err) {
  const cudaError_t code = cudaEventQuery(event->native);
  if (code == cudaErrorNotReady) {
    cudaGetLastError();
    return SY_E_AGAIN;
  }
  return guard(err, [&] { must(code, "asking for an event"); });
}
sy_rc event_seconds(sy_backend*, sy_event* from, sy_event* to, double* out, sy_error** err) {
  return guard(err, [&] {
    if (!from->timed || !to->timed) throw fault(SY_E_ARGUMENT, "the event was made without timing");
    float milliseconds = 0;
    const cudaError_t code = cudaEventElapsedTime(&milliseconds, from->native, to->native);
    if (code == cudaErrorInvalidResourceHandle || code == cudaErrorNotReady) {
      cudaGetLastError();
      throw fault(SY_E_STATE, "the event was not recorded yet, or is not ready");
    }
    must(code, "reading two events");
    *out = 1e-3 * milliseconds;
  });
}

// ---- work on views ---------------------------------------------------------------------------------------

sy_rc copy_views(sy_backend* b, const sy_view* to, const sy_view* from, sy_stream* stream, sy_error** err) {
  return guard(err, [&] {
    const sy_device there = on_host(*to) ? from->device : to->device;
    copy(*b, *to, *from, stream_or_default(stream, there.type == SY_DEVICE_CUDA ? b->ordinal(there) : 0));
  });
}

Number number_of(sy_dtype t) {
  if (same(t, f32)) return Number::fp32;
  if (same(t, bf16)) return Number::bf16;
  if (same(t, f16)) return Number::fp16;
  if (same(t, f64)) return Number::fp64;
  throw fault(SY_E_ARGUMENT, "expected fp64, fp32, fp16 or bf16, found type code " + std::to_string(t.code) + " of " +
                                 std::to_string(t.bits) + " bits");
}

template <void (*launch)(void*, Number, const void*, Number, int64_t, cudaStream_t)>
sy_rc elementwise(sy_backend* b, const sy_view* to, const sy_view* from, sy_stream* stream, sy_error** err) {
  return guard(err, [&] {
    const int device = b->ordinal(to->device);
    if (b->ordinal(from->device) != device) throw fault(SY_E_ARGUMENT, "both views must lie on one device");
    expect_same_shape(*to, *from);
    expect_contiguous(*to);
    expect_contiguous(*from);
    const Current current(device);
    launch(data(*to), number_of(to->dtype), data(*from), number_of(from->dtype), count(*to),
           stream_or_default(stream, device).native);
    must(cudaGetLastError(), "starting a kernel");
  });
}

sy_rc fill_zero(sy_backend* b, const sy_view* to, sy_stream* stream, sy_error** err) {
  return guard(err, [&] {
    const int device = b->ordinal(to->device);
    expect_contiguous(*to);
    if (count(*to) == 0) return;
    const Current current(device);
    must(cudaMemsetAsync(data(*to), 0, bytes(*to), stream_or_default(stream, device).native), "filling with zeros");
  });
}

sy_rc decide(sy_backend* b, const sy_decide* d, sy_stream* stream, sy_error** err) {
  return guard(err, [&] {
    sy_decide known{};
    std::memcpy(&known, d, std::min<std::size_t>(d->size, sizeof known));
    const int device = b->ordinal(known.device);
    const Current current(device);
    launch_decide(known, stream_or_default(stream, device).native);
    must(cudaGetLastError(), "starting a kernel");
  });
}

// ---- graphs ----------------------------------------------------------------------------------------------

sy_rc capture_begin(sy_backend*, sy_stream* stream, sy_error** err) {
  return guard(err, [&] {
    const Current current(stream->device);
    must(cudaStreamBeginCapture(stream->native, cudaStreamCaptureModeThreadLocal), "beginning a capture");
  });
}
sy_rc capture_end(sy_backend*, sy_stream* stream, sy_graph** give, sy_error** err) {
  return guard(err, [&] {
    const Current current(stream->device);
    cudaGraph_t graph = nullptr;
    must(cudaStreamEndCapture(stream->native, &graph), "ending a capture");
    auto made = std::make_unique<sy_graph>(sy_graph{stream->device, nullptr});
    const cudaError_t code = cudaGraphInstantiate(&made->native, graph, 0);
    cudaGraphDestroy(graph);
    must(code, "making a graph");
    *give = made.release();
  });
}
sy_rc graph_launch(sy_backend*, sy_graph* graph, sy_stream* stream, sy_error** err) {
  return guard(err, [&] {
    const Current current(graph->device);
    must(cudaGraphLaunch(graph->native, stream->native), "launching a graph");
  });
}
void graph_free(sy_backend*, sy_graph* take) {
  if (!take) return;
  cudaGraphExecDestroy(take->native);
  delete take;
}

constexpr sy_backend_api table = [] {
  sy_backend_api t{};
  t.size = sizeof t;
  t.caps = SY_B_PEER | SY_B_TIMED_EVENTS | SY_B_CAPTURE | SY_B_DECIDES;
  t.id = "cuda";
  t.help = "NVIDIA GPUs";
  t.options = options, t.n_options = 1;
  t.device_type = SY_DEVICE_CUDA;
  t.open = open, t.close = close, t.device = device, t.enter = enter, t.leave = leave;
  t.alloc = alloc, t.free = free, t.host_alloc = host_alloc, t.host_free = host_free;
  t.stream_new = stream_new, t.stream_free = stream_free, t.stream_native = stream_native;
  t.stream_wait = stream_wait, t.stream_sync = stream_sync;
  t.event_new = event_new, t.event_free = event_free, t.event_record = event_record, t.event_sync = event_sync;
  t.event_ready = event_ready, t.event_seconds = event_seconds;
  t.copy = copy_views, t.cast = elementwise<launch_cast>, t.fill_zero = fill_zero;
  t.accumulate = elementwise<launch_accumulate>;
  t.capture_begin = capture_begin, t.capture_end = capture_end;
  t.graph_launch = graph_launch, t.graph_free = graph_free;
  t.decide = decide;
  return t;
}();

}  // namespace
}  // namespace sy::cuda

SY_PLUGIN_NOTE("backend-cuda");
static constexpr sy_export exports[] = {{SY_KIND_BACKEND, &sy::cuda::table}};
SY_DEFINE_PLUGIN("backend-cuda", "0.1.0", exports)
