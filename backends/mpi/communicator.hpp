// One rank of a group of processes. Everything is done when a call returns, as on the streams of the cpu backend. Sums
// are made from messages, and not by MPI's own reductions: those cannot be given up once begun, know no 16-bit floats,
// and leave the order of additions open, which here is that of the ranks.
#pragma once

#include <atomic>
#include <vector>

#include "gathering.hpp"

namespace sy::mpi {

class Communicator {
 public:
  static constexpr const char* id = "mpi";
  static constexpr const char* help = "between processes that mpirun or another launcher of MPI started";
  static constexpr int32_t device_type = SY_DEVICE_CPU;

  static std::vector<char> make_id(const sy_config*);

  Communicator(const sy_config*, const joining& at, const std::atomic<bool>& aborted);

  sy_rc status();
  void abort() {}  // calls that wait look at `aborted`

  void exchange(std::span<const transfer> transfers, void*);
  void all_reduce(void* to, const void* from, int64_t count, sy_dtype dtype, void*);
  void reduce_scatter(void* to, const void* from, int64_t count, sy_dtype dtype, void*);
  void all_gather(void* to, const void* from, int64_t count, sy_dtype dtype, void*);
  void broadcast(void* both, int64_t count, sy_dtype dtype, int32_t root, void*);

 private:
  using Bounds = std::vector<int64_t>;  // ranks + 1: where the pieces of the ranks begin, in elements
  /// The process of each rank; throws SY_E_STATE while somebody is missing.
  const std::vector<int32_t>& processes();
  /// The sum of this rank's piece over all ranks.
  void reduce_pieces(void* to_piece, const void* from, const Bounds& bounds, sy_dtype dtype);
  /// Every rank's piece to all; this rank's lies in place already.
  void share_pieces(void* all, const Bounds& bounds, sy_dtype dtype);

  const int32_t tag_, rank_, ranks_;
  const std::atomic<bool>& aborted_;
  Gathering gathering_;
};

}  // namespace sy::mpi
