// MPI in this process: started with the first group, ended with the process. Messages are pieces of bytes between
// processes of MPI_COMM_WORLD; each group has a tag of its own, so that processes can form groups without all others
// taking part.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

namespace sy::mpi {

struct World {
  int process = 0, processes = 1;
  int largest_tag = 32767;
};

/// Starts MPI where the application has not. Throws sy::fault(SY_E_UNAVAILABLE): the process was not started by a
/// launcher such as mpirun, or this MPI does not serve several threads. [any]
const World& world();

/// Throws sy::fault(SY_E_COMM) with MPI's text.
void must(int code, const char* what);

/// Messages that are under way together. Their memory must stay until wait() has returned.
class Messages {
 public:
  explicit Messages(int tag) : tag_(tag) {}
  /// Ends what is still under way.
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  void send(const void* from, int64_t bytes, int to_process);
  /// from_process may be MPI_ANY_SOURCE.
  void receive(void* to, int64_t bytes, int from_process);
  /// Whether all are done. Does not wait.
  bool done();
  /// Waits until all are; throws sy::fault(SY_E_ABORTED) soon after `aborted` became true.
  void wait(const std::atomic<bool>& aborted);

 private:
  template <class Start>
  void in_pieces(int64_t bytes, Start&& start);

  int tag_;
  std::vector<MPI_Request> requests_;
  std::vector<bool> receives_;
};

}  // namespace sy::mpi
