// How the processes of a group find each other: each tells the one that made the id which rank it has, which answers
// all with the list of processes by rank.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <vector>

#include "switchyard/cpp/comm.hpp"
#include "world.hpp"

namespace sy::mpi {

/// What an id holds.
struct GroupId {
  char magic[8] = {'s', 'y', '-', 'm', 'p', 'i', '-', '1'};
  int32_t tag = 0;
  int32_t maker = 0;  // process
};

/// A tag that no other group is likely to have.
GroupId new_group();
/// Throws sy::fault(SY_E_ARGUMENT) for bytes of another kind.
GroupId group_of(const std::string& id);

class Gathering {
 public:
  /// Throws SY_E_ARGUMENT for more ranks than processes.
  Gathering(const GroupId& group, const joining& at);
  /// The processes by rank, once all are known; nothing before. Throws SY_E_ARGUMENT where two claim one rank, or
  /// disagree on how many ranks there are. Does not wait. [any]
  const std::vector<int32_t>* processes();

 private:
  using Claim = std::array<int32_t, 3>;  // rank, ranks, process
  bool collect();
  void answer();

  std::mutex mutex_;
  const GroupId group_;
  const int32_t ranks_;
  const bool collects_;
  Claim claim_{};
  std::vector<int32_t> list_;  // process of each rank, -1: not known yet; last: not 0 where something is wrong
  int32_t known_ = 0;
  bool complete_ = false;
  std::optional<Messages> incoming_;
  Messages outgoing_;
};

}  // namespace sy::mpi
