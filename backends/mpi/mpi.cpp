// MPI behind the communicator table. Loading the plugin starts nothing.

#include "communicator.hpp"
#include "switchyard/cpp/comm.hpp"

SY_PLUGIN_NOTE("comm-mpi");
static constexpr sy_export exports[] = {sy::export_comm<sy::mpi::Communicator>()};
SY_DEFINE_PLUGIN("comm-mpi", "0.1.0", exports)
