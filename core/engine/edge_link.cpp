#include "engine/edge_link.hpp"

#include <utility>

#include "base/dtype.hpp"
#include "engine/recorder.hpp"

namespace switchyard {

EdgeLink::EdgeLink(const Edge& edge, const Device& from, const Device& to)
    : edge_(edge.index), capacity_(edge.capacity), from_(from), to_(to), sent_(edge.capacity) {
  if (crosses() && carrier().is_asynchronous()) stream_ = carrier().new_stream();
}

/// Whose backend copies.
const Device& EdgeLink::carrier() const { return to_.is_asynchronous() && !from_.is_asynchronous() ? to_ : from_; }

void EdgeLink::open(uint64_t bytes) {
  free_.reset();
  room_ = bytes;
  for (int i = 0; i < capacity_; ++i) offer_buffer();
}

void EdgeLink::offer_buffer() {
  Block block = to_.allocate(room_);
  free_.send({std::move(block), to_.mark()});
}

void EdgeLink::send(Tensor tensor, int micro_batch, Recorder& recorder) {
  if (!crosses() || !tensor) return sent_.send({std::move(tensor), {}});
  Buffer buffer = free_.take();
  Parcel parcel = copy(tensor, std::move(buffer), micro_batch, recorder);
  if (from_.is_asynchronous()) {
    from_.wait_for(sending_.done);  // memory goes back in the order of the sender's stream
    sending_ = {std::move(tensor), stream_->mark()};
  }
  sent_.send(std::move(parcel));
}

EdgeLink::Parcel EdgeLink::copy(const Tensor& tensor, Buffer buffer, int micro_batch, Recorder& recorder) {
  const sy_view& from = tensor.view();
  Tensor there = to_.tensor_in(std::move(buffer.block), shape_of(from), from.dtype);
  if (!stream_) {
    recorder.begin_transfer(edge_, micro_batch);
    from_.copy_into(there.view(), from);
    recorder.end_transfer();
    return {std::move(there), {}};
  }
  stream_->wait_for(from_.mark());
  stream_->wait_for(buffer.free);
  recorder.begin_transfer(edge_, micro_batch, stream_.get());
  carrier().copy_on(*stream_, there.view(), from);
  Event arrived = stream_->mark();
  if (!from_.is_asynchronous()) arrived.wait();
  recorder.end_transfer(stream_.get());
  return {std::move(there), std::move(arrived)};
}

Tensor EdgeLink::take() {
  Parcel parcel = sent_.take();
  if (!crosses() || !parcel.tensor) return std::move(parcel.tensor);
  offer_buffer();
  if (to_.is_asynchronous())
    to_.wait_for(parcel.arrived);
  else
    parcel.arrived.wait();
  return std::move(parcel.tensor);
}

void EdgeLink::close() {
  free_.close();
  sent_.close();
}

void EdgeLink::reset() {
  sending_ = {};
  sent_.reset();
  free_.reset();
  if (room_ == 0) return;
  try {
    open(room_);
  } catch (const Error&) {
    room_ = 0;
  }
}

}  // namespace switchyard
