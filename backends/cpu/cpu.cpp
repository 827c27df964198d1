// The CPU as any number of logical devices: numbered like GPUs, all in one address space. Streams execute at once, so
// that whatever was enqueued is done when the call returns; an event only remembers when it was recorded.

#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

#include "elements.hpp"
#include "machine.hpp"
#include "strided_copy.hpp"
#include "switchyard/cpp/plugin.hpp"

struct sy_backend {
  std::string processor = sy::cpu::processor_name();
  sy::cpu::memory memory = sy::cpu::machine_memory();
};
struct sy_stream {
  sy_device device;
};
struct sy_event {
  bool timed;
  std::atomic<int64_t> recorded_ns{0};  // 0: never
};

namespace sy::cpu {
namespace {

constexpr uint64_t alignment = 256;

void expect_cpu(sy_device d) {
  if (d.type != SY_DEVICE_CPU || d.index < 0)
    throw fault(SY_E_ARGUMENT, "expected a device cpu:0, cpu:1, ..., found type " + std::to_string(d.type) +
                                   ", index " + std::to_string(d.index));
}

// ---- devices ---------------------------------------------------------------------------------------------

sy_rc open(const sy_host*, const sy_config*, sy_backend** give, sy_error** err) {
  return guard(err, [&] { *give = new sy_backend; });
}
void close(sy_backend* take) { delete take; }

sy_rc device(sy_backend* b, uint32_t i, sy_device_info* out, sy_error** err) {
  if (i > INT32_MAX) return SY_E_RANGE;
  return guard(err, [&] {
    const memory m = machine_memory();
    sy_device_info info{};
    info.caps = SY_B_PEER | SY_B_TIMED_EVENTS | SY_B_LOGICAL;
    info.device = {SY_DEVICE_CPU, static_cast<int32_t>(i)};
    info.bytes_total = m.total;
    info.bytes_free = m.free;
    b->processor.copy(info.name, sizeof info.name - 1);
    write_within(out, info);
  });
}

sy_rc enter(sy_backend*, sy_device d, uint64_t* token, sy_error** err) {
  return guard(err, [&] {
    expect_cpu(d);
    *token = 0;
  });
}
void leave(sy_backend*, uint64_t) {}

// ---- memory ----------------------------------------------------------------------------------------------

/// The system promises more memory than there is and kills who uses it: what can never be there is refused here.
void* aligned(const sy_backend& b, uint64_t bytes, const std::string& where) {
  const std::string text = "out of memory on " + where + ": asked for " + std::to_string(bytes) + " bytes";
  const uint64_t most = b.memory.total > 0 ? b.memory.total + b.memory.swap : INT64_MAX;
  if (bytes > most) throw fault(SY_E_NO_MEMORY, text + ", the machine has " + std::to_string(b.memory.total));
  const uint64_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded ? rounded : alignment);
  if (memory == nullptr) throw fault(SY_E_NO_MEMORY, text);
  return memory;
}
sy_rc alloc(sy_backend* b, sy_device d, uint64_t bytes, sy_stream*, void** give, sy_error** err) {
  return guard(err, [&] {
    expect_cpu(d);
    *give = aligned(*b, bytes, "cpu:" + std::to_string(d.index));
  });
}
void free(sy_backend*, sy_device, void* take, sy_stream*) { std::free(take); }

sy_rc host_alloc(sy_backend* b, uint64_t bytes, void** give, sy_error** err) {
  return guard(err, [&] { *give = aligned(*b, bytes, "the host"); });
}
void host_free(sy_backend*, void* take) { std::free(take); }

// ---- streams and events ----------------------------------------------------------------------------------

sy_rc stream_new(sy_backend*, sy_device d, sy_stream** give, sy_error** err) {
  return guard(err, [&] {
    expect_cpu(d);
    *give = new sy_stream{d};
  });
}
void stream_free(sy_backend*, sy_stream* take) { delete take; }
void* stream_native(sy_backend*, sy_stream*) { return nullptr; }
sy_rc stream_wait(sy_backend*, sy_stream*, sy_event*, sy_error**) { return SY_OK; }
sy_rc stream_sync(sy_backend*, sy_stream*, sy_error**) { return SY_OK; }

sy_rc event_new(sy_backend*, sy_device d, int32_t timed, sy_event** give, sy_error** err) {
  return guard(err, [&] {
    expect_cpu(d);
    *give = new sy_event{timed != 0, 0};
  });
}
void event_free(sy_backend*, sy_event* take) { delete take; }
sy_rc event_record(sy_backend*, sy_event* e, sy_stream*, sy_error**) {
  if (!e->timed) return SY_OK;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  e->recorded_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return SY_OK;
}
sy_rc event_sync(sy_backend*, sy_event*, sy_error**) { return SY_OK; }
sy_rc event_ready(sy_backend*, sy_event*, sy_error**) { return SY_OK; }
sy_rc event_seconds(sy_backend*, sy_event* from, sy_event* to, double* out, sy_error** err) {
  return guard(err, [&] {
    if (!from->timed || !to->timed) throw fault(SY_E_ARGUMENT, "the event was made without timing");
    if (from->recorded_ns == 0 || to->recorded_ns == 0) throw fault(SY_E_STATE, "the event was not recorded yet");
    *out = 1e-9 * static_cast<double>(to->recorded_ns - from->recorded_ns);
  });
}

// ---- work on views ---------------------------------------------------------------------------------------

std::string shape_text(const sy_view& v) {
  std::string text = "[";
  for (int32_t d = 0; d < v.ndim; ++d) text += (d ? ", " : "") + std::to_string(v.shape[d]);
  return text + "]";
}
void expect_same_shape(const sy_view& to, const sy_view& from) {
  bool equal = to.ndim == from.ndim;
  for (int32_t d = 0; equal && d < to.ndim; ++d) equal = to.shape[d] == from.shape[d];
  if (!equal) throw fault(SY_E_ARGUMENT, "expected the shape " + shape_text(to) + ", found " + shape_text(from));
}
void expect_contiguous(const sy_view& v) {
  int64_t stride = 1;
  if (count(v) == 0) return;
  for (int32_t d = v.ndim; d-- > 0; stride *= v.shape[d])
    if (v.shape[d] != 1 && v.strides[d] != stride)
      throw fault(SY_E_ARGUMENT, "expected a contiguous view of shape " + shape_text(v));
}

sy_rc copy(sy_backend*, const sy_view* to, const sy_view* from, sy_stream*, sy_error** err) {
  return guard(err, [&] {
    expect_cpu(to->device);
    expect_cpu(from->device);
    expect_same_shape(*to, *from);
    if (!same(to->dtype, from->dtype)) throw fault(SY_E_ARGUMENT, "a copy does not change the type; use cast");
    strided_copy(*to, *from);
  });
}

template <void (*work)(void*, sy_dtype, const void*, sy_dtype, int64_t)>
sy_rc elementwise(sy_backend*, const sy_view* to, const sy_view* from, sy_stream*, sy_error** err) {
  return guard(err, [&] {
    expect_cpu(to->device);
    expect_cpu(from->device);
    expect_same_shape(*to, *from);
    expect_contiguous(*to);
    expect_contiguous(*from);
    work(data(*to), to->dtype, data(*from), from->dtype, count(*to));
  });
}

sy_rc fill_zero(sy_backend*, const sy_view* to, sy_stream*, sy_error** err) {
  return guard(err, [&] {
    expect_cpu(to->device);
    expect_contiguous(*to);
    const auto bytes = static_cast<std::size_t>(count(*to)) * (to->dtype.bits * to->dtype.lanes / 8u);
    if (bytes > 0) std::memset(data(*to), 0, bytes);
  });
}

sy_rc decide(sy_backend*, const sy_decide* d, sy_stream*, sy_error** err) {
  return guard(err, [&] {
    sy_decide known{};
    std::memcpy(&known, d, std::min<std::size_t>(d->size, sizeof known));
    expect_cpu(known.device);
    sy_decide_here(&known);
  });
}

constexpr sy_backend_api table = [] {
  sy_backend_api t{};
  t.size = sizeof t;
  t.caps = SY_B_PEER | SY_B_TIMED_EVENTS | SY_B_LOGICAL | SY_B_DECIDES;
  t.id = "cpu";
  t.help = "the processor as any number of logical devices";
  t.device_type = SY_DEVICE_CPU;
  t.open = open, t.close = close, t.device = device, t.enter = enter, t.leave = leave;
  t.alloc = alloc, t.free = free, t.host_alloc = host_alloc, t.host_free = host_free;
  t.stream_new = stream_new, t.stream_free = stream_free, t.stream_native = stream_native;
  t.stream_wait = stream_wait, t.stream_sync = stream_sync;
  t.event_new = event_new, t.event_free = event_free, t.event_record = event_record, t.event_sync = event_sync;
  t.event_ready = event_ready, t.event_seconds = event_seconds;
  t.copy = copy, t.cast = elementwise<cast>, t.fill_zero = fill_zero, t.accumulate = elementwise<accumulate>;
  t.decide = decide;
  return t;
}();

}  // namespace
}  // namespace sy::cpu

SY_PLUGIN_NOTE("backend-cpu");
static constexpr sy_export exports[] = {{SY_KIND_BACKEND, &sy::cpu::table}};
SY_DEFINE_PLUGIN("backend-cpu", "0.1.0", exports)
