// NCCL behind the communicator table. Loading the plugin opens nothing; libnccl.so.2 is opened when an id is made or a
// group is joined.

#include "communicator.hpp"
#include "switchyard/cpp/comm.hpp"

SY_PLUGIN_NOTE("comm-nccl");
static constexpr sy_export exports[] = {sy::export_comm<sy::nccl::Communicator>()};
SY_DEFINE_PLUGIN("comm-nccl", "0.1.0", exports)
