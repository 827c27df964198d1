#include "plan/trace.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "plan/layer_list.hpp"
#include "plugin/version.hpp"
#include "report/json_string.hpp"

namespace switchyard {

namespace {

int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

/// Nanoseconds as microseconds: "12.345".
std::string microseconds(int64_t ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(ns / 1000), static_cast<long long>(ns % 1000));
  return text;
}

std::string head(Trace::Process process, const char* kind, const std::string& name) {
  return std::string("{\"ph\":\"") + kind + "\",\"pid\":" + std::to_string(static_cast<int>(process)) +
         ",\"name\":" + json_string(name);
}

std::string complete(Trace::Process process, int thread, const std::string& name, const char* category, int64_t begin,
                     int64_t end, const std::string& args) {
  return head(process, "X", name) + ",\"tid\":" + std::to_string(thread) + ",\"cat\":\"" + category +
         "\",\"ts\":" + microseconds(begin) + ",\"dur\":" + microseconds(end - begin) + ",\"args\":{" + args + "}}";
}

const char* category_of(uint32_t kind) {
  switch (kind) {
    case SY_ACT_F:
      return "forward";
    case SY_ACT_B:
      return "backward";
    case SY_ACT_I:
      return "backward_input";
    case SY_ACT_W:
      return "backward_weight";
    case SY_ACT_R:
      return "recompute";
  }
  return "unknown";
}

}  // namespace

Trace::Trace(const Plan& plan, const Model& model) : plan_(plan) {
  for (const Stage& s : plan.stages)
    stage_args_.push_back("\"stage\":" + std::to_string(s.index) +
                          ",\"layers\":" + json_string(layer_list(model, s.first, s.last)));
  for (const Edge& e : plan.edges)
    edge_names_.push_back(model.layers()[static_cast<std::size_t>(e.layer)].name +
                          (e.backward ? " backward " : " forward "));
}

void Trace::event(const std::string& text) { text_ += (events_++ > 0 ? ",\n" : "\n") + text; }

void Trace::name_process(Process process) {
  if (threads_.contains(process)) return;
  const int devices = static_cast<int>(plan_.devices.size());
  event(head(process, "M", "process_name") +
        ",\"args\":{\"name\":" + (process == Process::plan ? "\"plan\"" : "\"measured\"") + "}}");
  for (int d = 0; d < devices; ++d) name_thread(process, d + 1, device(d));
  threads_[process] = devices;
}

void Trace::name_thread(Process process, int id, const std::string& name) {
  const std::string thread = ",\"tid\":" + std::to_string(id);
  event(head(process, "M", "thread_name") + thread + ",\"args\":{\"name\":" + json_string(name) + "}}");
  event(head(process, "M", "thread_sort_index") + thread + ",\"args\":{\"sort_index\":" + std::to_string(id) + "}}");
}

void Trace::add(Process process, const Timeline& timeline, double begin, const std::optional<TracedPass>& pass) {
  name_process(process);
  const std::string args =
      pass ? ",\"step\":" + std::to_string(pass->step) + ",\"pass\":" + std::to_string(pass->pass) : "";
  add_actions(process, timeline, begin, args);
  add_transfers(process, timeline, begin, args);
  add_memory(process, timeline, begin);
}

void Trace::add_actions(Process process, const Timeline& timeline, double begin, const std::string& pass) {
  for (std::size_t d = 0; d < timeline.actions.size(); ++d)
    for (const TimedAction& a : timeline.actions[d]) {
      const std::string micro_batch = std::to_string(a.action.micro_batch);
      event(complete(process, static_cast<int>(d) + 1, kind_letter(a.action.kind) + (" " + micro_batch),
                     category_of(a.action.kind), nanoseconds(begin + a.begin), nanoseconds(begin + a.end),
                     stage_args_[static_cast<std::size_t>(a.action.stage)] + ",\"micro_batch\":" + micro_batch + pass));
    }
}

void Trace::add_transfers(Process process, const Timeline& timeline, double begin, const std::string& pass) {
  std::vector<TimedTransfer> transfers = timeline.transfers;
  std::stable_sort(transfers.begin(), transfers.end(),
                   [](const TimedTransfer& a, const TimedTransfer& b) { return a.begin < b.begin; });
  for (const TimedTransfer& t : transfers) {
    const Edge& e = plan_.edges[static_cast<std::size_t>(t.edge)];
    const int64_t from = nanoseconds(begin + t.begin), to = nanoseconds(begin + t.end);
    const std::string micro_batch = std::to_string(t.micro_batch);
    event(complete(process, transfer_thread(process, plan_.stages[e.from].device, plan_.stages[e.to].device, from, to),
                   edge_names_[static_cast<std::size_t>(t.edge)] + micro_batch, "transfer", from, to,
                   "\"edge\":" + std::to_string(t.edge) + ",\"micro_batch\":" + micro_batch +
                       ",\"bytes\":" + std::to_string(e.bytes) + pass));
  }
}

/// Events of one thread must not overlap; transfers between two devices may.
int Trace::transfer_thread(Process process, int from, int to, int64_t begin, int64_t end) {
  std::vector<Thread>& threads = transfer_threads_[{process, from, to}];
  auto free = std::find_if(threads.begin(), threads.end(), [&](const Thread& t) { return t.free_at <= begin; });
  if (free == threads.end()) {
    threads.push_back({++threads_[process], 0});
    free = threads.end() - 1;
    name_thread(process, free->id, device(from) + " to " + device(to));
  }
  free->free_at = end;
  return free->id;
}

void Trace::add_memory(Process process, const Timeline& timeline, double begin) {
  for (std::size_t d = 0; d < timeline.memory.size(); ++d)
    for (const MemoryPoint& p : timeline.memory[d])
      event(head(process, "C", "bytes on " + device(static_cast<int>(d))) + ",\"ts\":" +
            microseconds(nanoseconds(begin + p.at)) + ",\"args\":{\"bytes\":" + std::to_string(p.bytes) + "}}");
}

std::string Trace::json() const {
  return std::string("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"program\":\"switchyard ") + SWITCHYARD_VERSION +
         "\"},\"traceEvents\":[" + text_ + "\n]}\n";
}

std::string plan_trace(const Plan& plan, const Model& model) {
  Trace trace(plan, model);
  trace.add(Trace::Process::plan, timeline_of(plan), 0);
  return trace.json();
}

}  // namespace switchyard
