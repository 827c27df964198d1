#include "plugin/host.hpp"

#include <bit>
#include <cstddef>
#include <cstdlib>
#include <limits>

#include "base/account.hpp"
#include "base/tensor.hpp"
#include "config/size.hpp"
#include "plugin/options.hpp"
#include "plugin/utf8.hpp"
#include "plugin/version.hpp"

namespace switchyard {
namespace {

sy_rc fail(void*, sy_error** err, sy_rc code, const char* message) {
  const sy_rc wrong = code == SY_OK ? sy_rc{SY_E_INTERNAL} : code;  // an error is never a success
  if (err && !*err) guard(err, [&] { give_error(err, Error(wrong, message ? message : "")); });
  return wrong;
}

void note(void*, sy_error* err, const char* key, const char* value) {
  if (!err || !key || !value) return;
  guard(nullptr, [&] { err->error.note(valid_utf8(key), valid_utf8(value)); });
}

void log_line(void*, const sy_origin* origin, int32_t level, const char* where, const char* message) {
  guard(nullptr, [&] {
    std::string place = where ? where : "";
    if (origin) place += (place.empty() ? "" : " on ") + origin->device;
    log(level, place, message ? message : "");
  });
}

void* allocate(void*, uint64_t bytes, uint64_t align) {
  constexpr uint64_t most = std::numeric_limits<std::ptrdiff_t>::max();
  if (!std::has_single_bit(align) || bytes > most) return nullptr;
  void* memory = nullptr;
  const uint64_t at_least = align < sizeof(void*) ? sizeof(void*) : align;
  return posix_memalign(&memory, at_least, bytes ? bytes : 1) == 0 ? memory : nullptr;
}

void release(void*, void* memory) { std::free(memory); }

Error over_budget(const sy_origin& account, int64_t bytes) {
  const auto say = [](uint64_t n) {
    return print_size(static_cast<int64_t>(n)) + " (" + std::to_string(n) + " bytes)";
  };
  const auto live = static_cast<uint64_t>(account.live.load());
  Error error(SY_E_NO_MEMORY, account.device + ": " + say(static_cast<uint64_t>(bytes)) + " more do not fit: " +
                                  say(live) + " of its budget of " + say(account.budget) + " are in use");
  error.note("device", account.device).note("wanted_bytes", std::to_string(bytes));
  error.note("live_bytes", std::to_string(live)).note("budget_bytes", std::to_string(account.budget));
  return error;
}

sy_rc charge(void*, const sy_origin* origin, int64_t bytes, sy_error** err) {
  if (!origin) return fail(nullptr, err, SY_E_ARGUMENT, "memory is charged to nobody: the origin is missing");
  auto* account = const_cast<sy_origin*>(origin);  // plugins see it read-only
  if (account->charge(bytes)) return SY_OK;
  guard(err, [&] { give_error(err, over_budget(*account, bytes)); });
  return SY_E_NO_MEMORY;
}

sy_rc tensor_wrap(void*, const sy_view* view, void* owner, void (*drop)(void*), sy_tensor** give, sy_error** err) {
  if (!view || !give) {
    if (drop) drop(owner);
    return fail(nullptr, err, SY_E_ARGUMENT, "a tensor without a view, or without a place for it");
  }
  return guard(err, [&] { *give = wrap_tensor(*view, owner, drop); });
}

const sy_view* tensor_view(const sy_tensor* tensor) { return tensor ? &tensor->view : nullptr; }

void tensor_keep(sy_tensor* tensor) {
  if (tensor) keep_tensor(tensor);
}

void text_add(sy_text* text, const char* utf8) {
  if (text && utf8) guard(nullptr, [&] { text->text += valid_utf8(utf8); });
}

const void* get(void*, const char*) { return nullptr; }

sy_host make_table() {
  sy_host h{};
  h.size = sizeof(sy_host);
  h.abi_minor = SY_ABI_MINOR;
  h.core_version = SWITCHYARD_VERSION;
  h.fail = fail;
  h.note = note;
  h.log = log_line;
  h.alloc = allocate;
  h.free = release;
  h.charge = charge;
  fill_option_getters(h);
  h.tensor_wrap = tensor_wrap;
  h.tensor_view = tensor_view;
  h.tensor_keep = tensor_keep;
  h.tensor_drop = drop_tensor;
  h.text_add = text_add;
  h.get = get;
  return h;
}

}  // namespace

const sy_host* host_table() {
  static const sy_host table = make_table();
  return &table;
}

}  // namespace switchyard
