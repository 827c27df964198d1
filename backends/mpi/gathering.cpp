#include "gathering.hpp"

#include <cstring>
#include <random>

namespace sy::mpi {

GroupId new_group() {
  GroupId g;
  std::random_device random;
  const int half = world().largest_tag / 2;
  g.tag = half + static_cast<int32_t>(random() % static_cast<unsigned>(half));
  g.maker = world().process;
  return g;
}

GroupId group_of(const std::string& id) {
  GroupId g;
  if (id.size() != sizeof g || std::memcmp(id.data(), g.magic, sizeof g.magic) != 0)
    throw fault(SY_E_ARGUMENT, "mpi: these " + std::to_string(id.size()) + " bytes are no id made by it");
  std::memcpy(&g, id.data(), sizeof g);
  if (g.maker < 0 || g.maker >= world().processes)
    throw fault(SY_E_ARGUMENT, "mpi: the id was made by process " + std::to_string(g.maker) + "; there are " +
                                   std::to_string(world().processes) + " here");
  return g;
}

Gathering::Gathering(const GroupId& group, const joining& at)
    : group_(group),
      ranks_(at.ranks),
      collects_(group.maker == world().process),
      claim_{at.rank, at.ranks, world().process},
      list_(static_cast<std::size_t>(at.ranks) + 1, -1),
      outgoing_(group.tag) {
  if (at.ranks > world().processes)
    throw fault(SY_E_ARGUMENT, "mpi: " + std::to_string(at.ranks) + " ranks, but " + std::to_string(world().processes) +
                                   " processes; each rank needs one");
  list_.back() = 0;
  if (collects_) {
    list_[static_cast<std::size_t>(at.rank)] = world().process;
    known_ = 1;
    return;
  }
  outgoing_.send(claim_.data(), sizeof claim_, group.maker);
  incoming_.emplace(group.tag);
  incoming_->receive(list_.data(), static_cast<int64_t>(list_.size() * sizeof(int32_t)), group.maker);
}

/// Takes in one claim after the other. True: all are there.
bool Gathering::collect() {
  while (known_ < ranks_) {
    if (!incoming_) {
      incoming_.emplace(group_.tag);
      incoming_->receive(claim_.data(), sizeof claim_, MPI_ANY_SOURCE);
    }
    if (!incoming_->done()) return false;
    incoming_.reset();
    const auto [rank, ranks, process] = claim_;
    const bool fits = ranks == ranks_ && list_[static_cast<std::size_t>(rank)] < 0;
    if (!fits) {
      list_.back() = 1;
      // It waits for a list of the length that it believes in.
      std::vector<int32_t> refusal(static_cast<std::size_t>(ranks) + 1, 1);
      Messages answer(group_.tag);
      answer.send(refusal.data(), static_cast<int64_t>(refusal.size() * sizeof(int32_t)), process);
      answer.wait(std::atomic<bool>{false});
    } else {
      list_[static_cast<std::size_t>(rank)] = process;
    }
    ++known_;
  }
  return true;
}

void Gathering::answer() {
  for (std::size_t rank = 0; rank + 1 < list_.size(); ++rank)
    if (list_[rank] >= 0 && list_[rank] != world().process)
      outgoing_.send(list_.data(), static_cast<int64_t>(list_.size() * sizeof(int32_t)), list_[rank]);
}

const std::vector<int32_t>* Gathering::processes() {
  const std::lock_guard lock(mutex_);
  if (!complete_) {
    if (collects_ ? !collect() : !incoming_->done()) return nullptr;
    if (collects_) answer();
    complete_ = true;
  }
  if (!outgoing_.done()) return nullptr;
  if (list_.back() != 0)
    throw fault(SY_E_ARGUMENT, "mpi: two processes claim one rank, or disagree on how many ranks there are");
  return &list_;
}

}  // namespace sy::mpi
