#include "plugin/table_rule.hpp"

#include <string>
#include <tuple>

#include "base/error.hpp"
#include "plugin/host.hpp"
#include "plugin/options.hpp"
#include "switchyard/plugin.h"

namespace switchyard {
namespace {

template <class Slot>
struct Stub;
template <class... A>
struct Stub<sy_rc (*)(A...)> {
  static sy_rc call(A... arguments) {
    sy_error** err = std::get<sizeof...(A) - 1>(std::tie(arguments...));
    return host_table()->fail(nullptr, err, SY_E_UNIMPLEMENTED, "this plugin does not offer it");
  }
};
template <class... A>
struct Stub<void (*)(A...)> {
  static void call(A...) {}
};
template <class... A>
struct Stub<const void* (*)(A...)> {
  static const void* call(A...) { return nullptr; }
};
/// A layer that has nothing to finish has finished.
sy_rc finish_nothing(sy_layer*, const sy_call*, sy_error**) { return SY_OK; }

template <class Function>
AnyFunction any(Function* f) {
  return reinterpret_cast<AnyFunction>(f);
}

template <class Table>
void check_table(const void* table) {
  check_defaults(options_of(*static_cast<const Table*>(table)));
}

void check_promise(bool promised, bool kept, const char* bit, const char* slots) {
  if (promised && !kept) throw Error(SY_E_ABI, std::string(bit) + " is set, but " + slots + " is empty");
}

void check_layer(const void* table) {
  check_table<sy_layer_api>(table);
  const auto& t = *static_cast<const sy_layer_api*>(table);
  check_promise(t.caps & SY_L_SPLIT_BACKWARD, t.backward_input && t.backward_weight, "SY_L_SPLIT_BACKWARD",
                "'backward_input' or 'backward_weight'");
}

void check_backend(const void* table) {
  check_table<sy_backend_api>(table);
  const auto& t = *static_cast<const sy_backend_api*>(table);
  check_promise(t.caps & SY_B_CAPTURE, t.capture_begin && t.capture_end && t.graph_launch && t.graph_free,
                "SY_B_CAPTURE", "'capture_begin', 'capture_end', 'graph_launch' or 'graph_free'");
  check_promise(t.caps & SY_B_DECIDES, t.decide, "SY_B_DECIDES", "'decide'");
}

}  // namespace

// clang-format off
#define MUST(slot) {#slot, offsetof(Api, slot), nullptr}
#define MAY(slot) {#slot, offsetof(Api, slot), any(Stub<decltype(Api::slot)>::call)}
#define UP_TO(slot) (offsetof(Api, slot) + sizeof(Api::slot))

const TableRule& layer_rule() {
  using Api = sy_layer_api;
  static const SlotRule slots[] = {
      MUST(create), MUST(infer), MUST(params), MUST(cost), MUST(bind), MUST(forward), MUST(backward),
      MAY(backward_input), MAY(backward_weight), {"finish", offsetof(Api, finish), any(finish_nothing)},
      MUST(free_saved), MUST(destroy), MAY(get)};
  static const TableRule rule{UP_TO(get), sizeof(Api), slots, check_layer};
  return rule;
}

const TableRule& policy_rule() {
  using Api = sy_policy_api;
  static const SlotRule slots[] = {MUST(create), MUST(place), MUST(destroy)};
  static const TableRule rule{UP_TO(destroy), sizeof(Api), slots, check_table<Api>};
  return rule;
}

const TableRule& schedule_rule() {
  using Api = sy_schedule_api;
  static const SlotRule slots[] = {MUST(create), MUST(plan), MUST(destroy)};
  static const TableRule rule{UP_TO(destroy), sizeof(Api), slots, check_table<Api>};
  return rule;
}

const TableRule& optimizer_rule() {
  using Api = sy_optimizer_api;
  static const SlotRule slots[] = {MUST(create), MUST(states), MUST(step), MUST(norms), MUST(destroy)};
  static const TableRule rule{UP_TO(destroy), sizeof(Api), slots, check_table<Api>};
  return rule;
}

const TableRule& backend_rule() {
  using Api = sy_backend_api;
  static const SlotRule slots[] = {
      MUST(open), MUST(close), MUST(device), MUST(enter), MUST(leave), MUST(alloc), MUST(free), MUST(host_alloc),
      MUST(host_free), MUST(stream_new), MUST(stream_free), MUST(stream_native), MUST(stream_wait), MUST(stream_sync),
      MUST(event_new), MUST(event_free), MUST(event_record), MUST(event_sync), MUST(event_ready), MUST(event_seconds),
      MUST(copy), MUST(cast), MUST(fill_zero), MUST(accumulate), MAY(capture_begin), MAY(capture_end),
      MAY(graph_launch), MAY(graph_free), MAY(get), MAY(decide)};
  static const TableRule rule{UP_TO(get), sizeof(Api), slots, check_backend};
  return rule;
}
const TableRule& comm_rule() {
  using Api = sy_comm_api;
  static const SlotRule slots[] = {
      MUST(make_id), MUST(open), MUST(status), MUST(abort), MUST(close), MUST(send), MUST(recv), MUST(all_reduce),
      MUST(reduce_scatter), MUST(all_gather), MUST(broadcast), MUST(group_begin), MUST(group_end), MAY(get)};
  static const TableRule rule{UP_TO(get), sizeof(Api), slots, check_table<Api>};
  return rule;
}
// clang-format on

}  // namespace switchyard
