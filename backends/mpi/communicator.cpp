#include "communicator.hpp"

#include <cstring>

#include "sum.hpp"

namespace sy::mpi {
namespace {

int64_t bytes_of(int64_t count, sy_dtype dtype) { return count * dtype.bits / 8; }

template <class Byte>
Byte* at(Byte* data, int64_t element, sy_dtype dtype) {
  return data + bytes_of(element, dtype);
}

std::vector<int64_t> even_pieces(int64_t count, int32_t ranks) {
  std::vector<int64_t> bounds;
  const int64_t size = count / ranks, longer = count % ranks;
  for (int32_t r = 0; r <= ranks; ++r) bounds.push_back(r * size + std::min<int64_t>(r, longer));
  return bounds;
}

}  // namespace

std::vector<char> Communicator::make_id(const sy_config*) {
  const GroupId made = new_group();
  std::vector<char> bytes(sizeof made);
  std::memcpy(bytes.data(), &made, sizeof made);
  return bytes;
}

Communicator::Communicator(const sy_config*, const joining& at, const std::atomic<bool>& aborted)
    : tag_(group_of(at.id).tag), rank_(at.rank), ranks_(at.ranks), aborted_(aborted), gathering_(group_of(at.id), at) {}

sy_rc Communicator::status() { return gathering_.processes() ? SY_OK : SY_E_AGAIN; }

const std::vector<int32_t>& Communicator::processes() {
  const std::vector<int32_t>* all = gathering_.processes();
  if (!all) throw fault(SY_E_STATE, "mpi: not every rank has joined yet; ask status until all have");
  return *all;
}

void Communicator::exchange(std::span<const transfer> transfers, void*) {
  const std::vector<int32_t>& process = processes();
  Messages messages(tag_);
  for (const transfer& t : transfers) {
    const auto peer = process[static_cast<std::size_t>(t.peer)];
    if (t.from_here)
      messages.send(t.data, bytes_of(t.count, t.dtype), peer);
    else
      messages.receive(t.data, bytes_of(t.count, t.dtype), peer);
  }
  messages.wait(aborted_);
}

void Communicator::reduce_pieces(void* to_piece, const void* from, const Bounds& bounds, sy_dtype dtype) {
  const std::vector<int32_t>& process = processes();
  const auto* mine = static_cast<const char*>(from);
  const auto me = static_cast<std::size_t>(rank_), ranks = static_cast<std::size_t>(ranks_);
  const int64_t count = bounds[me + 1] - bounds[me];
  std::vector<std::vector<char>> received(ranks);
  std::vector<const void*> pieces(ranks, at(mine, bounds[me], dtype));
  Messages messages(tag_);
  for (std::size_t r = 0; r < ranks; ++r) {
    if (r == me) continue;
    received[r].resize(static_cast<std::size_t>(bytes_of(count, dtype)));
    pieces[r] = received[r].data();
    messages.receive(received[r].data(), bytes_of(count, dtype), process[r]);
    messages.send(at(mine, bounds[r], dtype), bytes_of(bounds[r + 1] - bounds[r], dtype), process[r]);
  }
  messages.wait(aborted_);
  sum(to_piece, pieces, count, dtype);
}

void Communicator::share_pieces(void* all, const Bounds& bounds, sy_dtype dtype) {
  const std::vector<int32_t>& process = processes();
  const auto me = static_cast<std::size_t>(rank_);
  const auto piece = [&](std::size_t r) { return at(static_cast<char*>(all), bounds[r], dtype); };
  const auto bytes = [&](std::size_t r) { return bytes_of(bounds[r + 1] - bounds[r], dtype); };
  Messages messages(tag_);
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks_); ++r) {
    if (r == me) continue;
    messages.receive(piece(r), bytes(r), process[r]);
    messages.send(piece(me), bytes(me), process[r]);
  }
  messages.wait(aborted_);
}

void Communicator::all_reduce(void* to, const void* from, int64_t count, sy_dtype dtype, void*) {
  const Bounds bounds = even_pieces(count, ranks_);
  reduce_pieces(at(static_cast<char*>(to), bounds[static_cast<std::size_t>(rank_)], dtype), from, bounds, dtype);
  share_pieces(to, bounds, dtype);
}

void Communicator::reduce_scatter(void* to, const void* from, int64_t count, sy_dtype dtype, void*) {
  reduce_pieces(to, from, even_pieces(count * ranks_, ranks_), dtype);
}

void Communicator::all_gather(void* to, const void* from, int64_t count, sy_dtype dtype, void*) {
  char* const mine = at(static_cast<char*>(to), rank_ * count, dtype);
  if (mine != from) std::memcpy(mine, from, static_cast<std::size_t>(bytes_of(count, dtype)));
  share_pieces(to, even_pieces(count * ranks_, ranks_), dtype);
}

void Communicator::broadcast(void* both, int64_t count, sy_dtype dtype, int32_t root, void*) {
  const std::vector<int32_t>& process = processes();
  Messages messages(tag_);
  if (rank_ != root) messages.receive(both, bytes_of(count, dtype), process[static_cast<std::size_t>(root)]);
  for (int32_t r = 0; rank_ == root && r < ranks_; ++r)
    if (r != root) messages.send(both, bytes_of(count, dtype), process[static_cast<std::size_t>(r)]);
  messages.wait(aborted_);
}

}  // namespace sy::mpi
