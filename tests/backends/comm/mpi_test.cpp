// The cases over MPI: processes of this machine, started by mpirun.
#include <doctest/doctest.h>

#include <string>

#include "cases.hpp"
#include "scratch.hpp"

using namespace comm_test;

namespace {

int mpirun(int processes) {
  const Scratch folder;
  // As in a container: by root, on fewer cores than processes, and over shared memory alone.
  return folder.run(
      "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
      "OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none mpirun "
      "-n " +
          std::to_string(processes) + " " + comm_rank() + " mpi cpu 0 mpi mpi " + folder.path().string(),
      "mpirun");
}

}  // namespace

TEST_CASE("outside of mpirun the plugin loads, and says so") {
  const auto& api = fake::table<sy_comm_api>(fake::plugin("plugins/sy-comm-mpi.so"), SY_KIND_COMM, "mpi");
  char id[128];
  uint32_t bytes = 0;
  sy_error* err = nullptr;
  CHECK(api.make_id(fake::host(), nullptr, id, sizeof id, &bytes, &err) == SY_E_UNAVAILABLE);
  const std::string text = fake::taken(err).second;
  CAPTURE(text);
  CHECK(text.find("not started by mpirun") != text.npos);
}

TEST_CASE("one process") { CHECK(mpirun(1) == 0); }
TEST_CASE("two processes") { CHECK(mpirun(2) == 0); }
TEST_CASE("three processes") { CHECK(mpirun(3) == 0); }
