// A host table for tests of plugins: no core behind it. Options are given as TOML text, errors and tensors are counted,
// and an origin remembers what was charged to it.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "switchyard/plugin.h"

struct sy_error {
  sy_rc code = SY_OK;
  std::string text;
  std::map<std::string, std::string> notes;
};

struct sy_text {
  std::string text;
};

/// Live and peak bytes of one device; charges above `budget` are refused.
struct sy_origin {
  std::atomic<int64_t> live{0};
  int64_t peak = 0;
  int64_t budget = INT64_MAX;
};

/// The options of one test: key and TOML text; what is missing takes the published default.
struct sy_config {
  const sy_option* const* options = nullptr;
  uint32_t n_options = 0;
  std::map<std::string, std::string> given;
  mutable std::map<std::string, std::string> lent;  // unquoted strings, alive as long as the table
};

struct sy_tensor {
  std::atomic<int> uses{1};
  std::vector<int64_t> shape, strides;
  sy_view view{};
  void* owner = nullptr;
  void (*drop)(void*) = nullptr;
};

namespace fake {

/// What a plugin's failure becomes in a test.
struct failure : std::runtime_error {
  sy_rc code;
  failure(sy_rc c, const std::string& text) : std::runtime_error(text), code(c) {}
};

inline std::atomic<int64_t> live_tensors{0};

/// Code and text of an error, which is freed; SY_OK and "" for none.
inline std::pair<sy_rc, std::string> taken(sy_error* err) {
  if (err == nullptr) return {SY_OK, ""};
  std::pair<sy_rc, std::string> result{err->code, err->text};
  delete err;
  return result;
}
/// Calls `body(&err)` and throws failure when it returns anything but SY_OK.
template <class Body>
void must(Body&& body) {
  sy_error* err = nullptr;
  const sy_rc rc = body(&err);
  auto [code, text] = taken(err);
  if (rc != SY_OK) throw failure(rc, text);
  if (code != SY_OK) throw std::logic_error("an error was made, yet SY_OK returned: " + text);
}

namespace options {

inline std::string trimmed(const std::string& s) {
  const auto a = s.find_first_not_of(" \t\n");
  return a == std::string::npos ? "" : s.substr(a, s.find_last_not_of(" \t\n") - a + 1);
}
inline std::vector<std::string> items(const std::string& list) {
  std::vector<std::string> all;
  const std::string inside = trimmed(list).substr(1, trimmed(list).size() - 2);
  std::string item;
  bool quoted = false;
  for (const char c : inside) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) {
      all.push_back(trimmed(item));
      item.clear();
    } else {
      item += c;
    }
  }
  if (!trimmed(item).empty()) all.push_back(trimmed(item));
  return all;
}
/// The text of an option, given or default; nullptr when none of this type was published.
inline const char* text_of(const sy_config* c, const char* key, uint32_t type) {
  for (uint32_t i = 0; i < c->n_options; ++i) {
    const sy_option& o = *c->options[i];
    if (std::strcmp(o.key, key) != 0 || o.type != type) continue;
    const auto at = c->given.find(key);
    return at != c->given.end() ? at->second.c_str() : o.fallback;
  }
  return nullptr;
}
inline const char* unquoted(const sy_config* c, const std::string& slot, const std::string& text) {
  return (c->lent[slot] = text.substr(1, text.size() - 2)).c_str();
}
inline double number(const std::string& text) { return std::strtod(text.c_str(), nullptr); }
inline int64_t integer(const std::string& text) { return std::strtoll(text.c_str(), nullptr, 0); }

template <uint32_t type, class T, class Convert>
sy_rc one(const sy_config* c, const char* key, T* out, Convert convert) {
  const char* text = text_of(c, key, type);
  if (text == nullptr) return SY_E_NOT_FOUND;
  *out = convert(std::string(text));
  return SY_OK;
}
template <uint32_t type, class T, class Convert>
sy_rc item(const sy_config* c, const char* key, uint32_t i, T* out, Convert convert) {
  const char* text = text_of(c, key, type);
  if (text == nullptr) return SY_E_NOT_FOUND;
  const auto all = items(text);
  if (i >= all.size()) return SY_E_RANGE;
  *out = convert(all[i]);
  return SY_OK;
}

}  // namespace options

namespace tensors {

inline sy_rc wrap(void*, const sy_view* view, void* owner, void (*drop)(void*), sy_tensor** give, sy_error**) {
  auto* t = new sy_tensor;
  t->shape.assign(view->shape, view->shape + view->ndim);
  t->strides.assign(view->strides, view->strides + view->ndim);
  t->view = *view;
  t->view.shape = t->shape.data();
  t->view.strides = t->strides.data();
  t->owner = owner;
  t->drop = drop;
  ++live_tensors;
  *give = t;
  return SY_OK;
}
inline void drop(sy_tensor* t) {
  if (t == nullptr || --t->uses > 0) return;
  if (t->drop != nullptr) t->drop(t->owner);
  --live_tensors;
  delete t;
}

}  // namespace tensors

inline sy_rc fail(void*, sy_error** err, sy_rc code, const char* message) {
  if (err != nullptr && *err == nullptr) *err = new sy_error{code, message, {}};
  return code;
}
inline sy_rc charge(void*, const sy_origin* origin, int64_t bytes, sy_error** err) {
  if (origin == nullptr) return SY_OK;
  auto* o = const_cast<sy_origin*>(origin);
  if (bytes > 0 && o->live + bytes > o->budget) return fail(nullptr, err, SY_E_NO_MEMORY, "over the device's budget");
  o->live += bytes;
  if (o->live > o->peak) o->peak = o->live;
  return SY_OK;
}

inline const sy_host* host() {
  static const sy_host table = [] {
    sy_host h{};
    h.size = sizeof h;
    h.abi_minor = SY_ABI_MINOR;
    h.core_version = "test";
    h.fail = fail;
    h.note = [](void*, sy_error* e, const char* key, const char* value) {
      if (e) e->notes.emplace(key, value);
    };
    h.log = [](void*, const sy_origin*, int32_t, const char*, const char*) {};
    h.alloc = [](void*, uint64_t bytes, uint64_t align) {
      return std::aligned_alloc(align, (bytes + align - 1) / align * align);
    };
    h.free = [](void*, void* memory) { std::free(memory); };
    h.charge = charge;
    using namespace options;
    h.cfg_bool = [](const sy_config* c, const char* k, int32_t* out, sy_error**) {
      return one<SY_T_BOOL>(c, k, out, [](const std::string& s) { return int32_t{s == "true"}; });
    };
    h.cfg_i64 = [](const sy_config* c, const char* k, int64_t* out, sy_error**) {
      return one<SY_T_I64>(c, k, out, integer);
    };
    h.cfg_f64 = [](const sy_config* c, const char* k, double* out, sy_error**) {
      return one<SY_T_F64>(c, k, out, number);
    };
    h.cfg_str = [](const sy_config* c, const char* k, const char** out, sy_error**) {
      if (const char* number = text_of(c, k, SY_T_I64)) {  // or the word that stands in its place
        *out = number[0] == '"' ? unquoted(c, k, number) : "";
        return sy_rc{SY_OK};
      }
      for (const uint32_t number : {SY_T_I64, SY_T_F64})  // a word may stand in place of a number; "": a number does
        if (const char* text = text_of(c, k, number))
          return *out = *text == '"' ? unquoted(c, k, text) : "", sy_rc{SY_OK};
      return one<SY_T_STR>(c, k, out, [&](const std::string& s) { return unquoted(c, k, s); });
    };
    h.cfg_count = [](const sy_config* c, const char* k, uint32_t* out, sy_error**) {
      for (const uint32_t type : {SY_T_I64S, SY_T_F64S, SY_T_STRS})
        if (const char* text = text_of(c, k, type))
          return *out = static_cast<uint32_t>(items(text).size()), sy_rc{SY_OK};
      return sy_rc{SY_E_NOT_FOUND};
    };
    h.cfg_i64_at = [](const sy_config* c, const char* k, uint32_t i, int64_t* out, sy_error**) {
      return item<SY_T_I64S>(c, k, i, out, integer);
    };
    h.cfg_f64_at = [](const sy_config* c, const char* k, uint32_t i, double* out, sy_error**) {
      return item<SY_T_F64S>(c, k, i, out, number);
    };
    h.cfg_str_at = [](const sy_config* c, const char* k, uint32_t i, const char** out, sy_error**) {
      const std::string slot = std::string(k) + "#" + std::to_string(i);
      return item<SY_T_STRS>(c, k, i, out, [&](const std::string& s) { return unquoted(c, slot, s); });
    };
    h.cfg_given = [](const sy_config* c, const char* k) { return int32_t{c->given.count(k) > 0}; };
    h.tensor_wrap = tensors::wrap;
    h.tensor_view = [](const sy_tensor* t) { return &t->view; };
    h.tensor_keep = [](sy_tensor* t) { ++t->uses; };
    h.tensor_drop = tensors::drop;
    h.text_add = [](sy_text* t, const char* utf8) { t->text += utf8; };
    h.get = [](void*, const char*) -> const void* { return nullptr; };
    return h;
  }();
  return &table;
}

/// A plugin opened from the build folder, e.g. plugin("plugins/sy-policy-contiguous.so"); stays loaded.
inline const sy_plugin& plugin(const std::string& file) {
  const char* build = std::getenv("SWITCHYARD_BUILD");
  const std::string path = std::string(build ? build : ".") + "/" + file;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto* p = static_cast<const sy_plugin*>(dlsym(library, SY_PLUGIN_SYMBOL));
  if (p == nullptr || p->magic != SY_PLUGIN_MAGIC) throw std::runtime_error(path + " is no plugin");
  must([&](sy_error** err) { return p->attach(host(), err); });
  return *p;
}

/// The table of a kind; with an id, of that id.
template <class Api>
const Api& table(const sy_plugin& p, const std::string& kind, const std::string& id = "") {
  for (uint32_t i = 0; i < p.n_exports; ++i) {
    const auto* api = static_cast<const Api*>(p.exports[i].table);
    if (kind == p.exports[i].kind && (id.empty() || id == api->id)) return *api;
  }
  throw std::runtime_error(std::string(p.id) + " exports no " + kind + " " + id);
}

template <class Api>
sy_config config(const Api& api, std::map<std::string, std::string> given) {
  return sy_config{api.options, api.n_options, std::move(given), {}};
}

}  // namespace fake
