// What carries tensors over one edge of the plan, and when they may be read, and freed.
//
//   sender's thread                the edge's stream          receiver's thread
//                         ◀─────────────────────────────────  open: `capacity` buffers, each free behind an event
//   take a free buffer  (waits while all are full)
//   copy enqueued ──────────────▶  wait for the tensor
//                                  wait for the buffer
//                                  copy
//   send ───────────────────────▶  ● arrived ──────────────▶  take: later work waits for `arrived`;
//   frees the tensor behind its                               a new buffer takes the place of the one that is taken
//   copy, at the latest at the
//   edge's next send
//
// So the receiver pays for `capacity` tensors from the start on, whoever is faster, and the sender for none that it has
// sent (an asynchronous one for the last). Between stages on one device the tensor itself is handed on.
#pragma once

#include "base/tensor.hpp"
#include "engine/channel.hpp"
#include "engine/device.hpp"
#include "plan/plan.hpp"

namespace switchyard {

class Recorder;

/// One sender, one receiver. A failure anywhere closes it.
class EdgeLink {
 public:
  /// The devices are lent.
  EdgeLink(const Edge& edge, const Device& from, const Device& to);
  EdgeLink(const EdgeLink&) = delete;
  EdgeLink& operator=(const EdgeLink&) = delete;

  bool crosses() const { return &from_ != &to_; }
  /// Bytes of the largest tensor that can be sent; 0 until it was opened.
  uint64_t room() const { return room_; }
  /// Makes buffers of this size; nobody may be sending or taking. [receiver]
  void open(uint64_t bytes);
  /// Waits for a free buffer; an empty tensor needs none. Throws Stopped. [sender]
  void send(Tensor tensor, int micro_batch, Recorder& recorder);
  /// Waits for a tensor; its owner is the caller. Throws Stopped. [receiver]
  Tensor take();

  void close();
  /// Drops what was under way; room() is 0 afterwards if there was no memory for new buffers. Nobody may be waiting,
  /// and the devices are done. [ctl]
  void reset();

 private:
  struct Buffer {
    Block block;
    Event free;  // behind what its memory was used for before
  };
  struct Parcel {
    Tensor tensor;
    Event arrived;
  };
  struct Sending {
    Tensor tensor;
    Event done;
  };
  const Device& carrier() const;
  void offer_buffer();
  Parcel copy(const Tensor& tensor, Buffer buffer, int micro_batch, Recorder& recorder);

  const int edge_;
  const int capacity_;
  const Device& from_;
  const Device& to_;
  std::unique_ptr<Stream> stream_;  // of the carrier; NULL: both ends are synchronous
  uint64_t room_ = 0;
  Channel<Buffer> free_{0};
  Channel<Parcel> sent_;
  Sending sending_;  // of an asynchronous sender
};

}  // namespace switchyard
