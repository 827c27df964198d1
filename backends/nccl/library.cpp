#include "library.hpp"

#include <dlfcn.h>

#include <string>

#include "switchyard/cpp/plugin.hpp"

namespace sy::nccl {
namespace {

constexpr const char* soname = "libnccl.so.2";

/// By name: what the process has already, then where the system looks; last where the build found it.
void* opened() {
  if (void* there = dlopen(soname, RTLD_NOW | RTLD_LOCAL)) return there;
  const std::string why = dlerror();
  if (void* there = dlopen(SWITCHYARD_NCCL_DIR "/libnccl.so.2", RTLD_NOW | RTLD_LOCAL)) return there;
  throw fault(SY_E_UNAVAILABLE, "NCCL is missing: " + why +
                                    "; nor is it in " SWITCHYARD_NCCL_DIR
                                    ": install libnccl2, or name its folder in LD_LIBRARY_PATH");
}

template <class Function>
void find(void* from, const char* name, Function& slot) {
  slot = reinterpret_cast<Function>(dlsym(from, name));
  if (!slot) throw fault(SY_E_UNAVAILABLE, std::string(soname) + " is too old: it has no " + name);
}

Library load() {
  void* from = opened();
  Library n{};
  find(from, "ncclGetVersion", n.version);
  int version = 0;
  n.version(&version);
  if (version < NCCL_VERSION(2, 18, 0))
    throw fault(SY_E_UNAVAILABLE,
                std::string(soname) + " is too old: expected 2.18 (21800) or later, found " + std::to_string(version));
  find(from, "ncclGetUniqueId", n.unique_id);
  find(from, "ncclCommInitRankConfig", n.init);
  find(from, "ncclCommGetAsyncError", n.async_error);
  find(from, "ncclGetErrorString", n.error_text);
  find(from, "ncclGetLastError", n.last_error);
  find(from, "ncclCommFinalize", n.finalize);
  find(from, "ncclCommDestroy", n.destroy);
  find(from, "ncclCommAbort", n.abort);
  find(from, "ncclGroupStart", n.group_start);
  find(from, "ncclGroupEnd", n.group_end);
  find(from, "ncclSend", n.send);
  find(from, "ncclRecv", n.recv);
  find(from, "ncclAllReduce", n.all_reduce);
  find(from, "ncclReduceScatter", n.reduce_scatter);
  find(from, "ncclAllGather", n.all_gather);
  find(from, "ncclBroadcast", n.broadcast);
  return n;
}

}  // namespace

const Library& library() {
  static const Library loaded = load();  // stays for the life of the process
  return loaded;
}

}  // namespace sy::nccl
