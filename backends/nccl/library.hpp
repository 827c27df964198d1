// libnccl.so.2, opened when it is first needed: the plugin loads without it, and where LibTorch has brought a copy into
// the process, that one is used.
#pragma once

#include <nccl.h>

namespace sy::nccl {

struct Library {
  decltype(&ncclGetVersion) version;
  decltype(&ncclGetUniqueId) unique_id;
  decltype(&ncclCommInitRankConfig) init;
  decltype(&ncclCommGetAsyncError) async_error;
  decltype(&ncclGetErrorString) error_text;
  decltype(&ncclGetLastError) last_error;
  decltype(&ncclCommFinalize) finalize;
  decltype(&ncclCommDestroy) destroy;
  decltype(&ncclCommAbort) abort;
  decltype(&ncclGroupStart) group_start;
  decltype(&ncclGroupEnd) group_end;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) recv;
  decltype(&ncclAllReduce) all_reduce;
  decltype(&ncclReduceScatter) reduce_scatter;
  decltype(&ncclAllGather) all_gather;
  decltype(&ncclBroadcast) broadcast;
};

/// Throws sy::fault(SY_E_UNAVAILABLE): it cannot be opened, or is older than 2.18. [any]
const Library& library();

}  // namespace sy::nccl
