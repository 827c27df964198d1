// One device of a running pipe: its backend, its stream, and memory that is charged to its account.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/account.hpp"
#include "base/tensor.hpp"
#include "engine/stream.hpp"
#include "plan/device.hpp"
#include "switchyard/backend.h"

namespace switchyard {

/// An opened backend; shared by the devices of a pipe and by every tensor that lies in its memory.
class OpenedBackend {
 public:
  /// `p2p` is devices.p2p, for backends that have such an option.
  explicit OpenedBackend(const sy_backend_api& api, const std::string& p2p = "auto");
  ~OpenedBackend();
  OpenedBackend(const OpenedBackend&) = delete;
  OpenedBackend& operator=(const OpenedBackend&) = delete;
  const sy_backend_api& api() const { return api_; }
  sy_backend* get() const { return backend_; }

 private:
  const sy_backend_api& api_;
  sy_backend* backend_ = nullptr;
};

/// Memory on a device, charged while it lives.
class Block {
 public:
  Block() = default;
  Block(std::shared_ptr<OpenedBackend> backend, sy_device device, sy_origin* account, sy_stream* stream,
        uint64_t bytes);
  Block(Block&& o) noexcept { swap(o); }
  Block& operator=(Block&& o) noexcept {
    swap(o);
    return *this;
  }
  ~Block();
  char* data() const { return static_cast<char*>(memory_); }
  uint64_t bytes() const { return bytes_; }

 private:
  void swap(Block& o) noexcept;
  std::shared_ptr<OpenedBackend> backend_;
  sy_device device_{};
  sy_origin* account_ = nullptr;
  sy_stream* stream_ = nullptr;
  void* memory_ = nullptr;
  uint64_t bytes_ = 0;
};

class Device {
 public:
  /// Throws SY_E_STATE for a device that is only planned for.
  Device(const PlanDevice& plan, std::shared_ptr<OpenedBackend> backend);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }
  sy_device id() const { return id_; }
  sy_origin* account() const { return account_; }
  sy_stream* stream() const { return stream_.get(); }
  void* native_stream() const { return stream_.native(); }
  int64_t threads() const { return threads_; }
  const std::shared_ptr<OpenedBackend>& backend() const { return backend_; }

  /// Throws SY_E_NO_MEMORY with asked, held and budget when the account is over its budget.
  Block allocate(uint64_t bytes) const { return Block(backend_, id_, account_, stream(), bytes); }
  Tensor new_tensor(const Shape& shape, sy_dtype dtype) const;
  /// A contiguous tensor at the beginning of memory that lies here and is large enough.
  Tensor tensor_in(Block memory, const Shape& shape, sy_dtype dtype) const;
  /// A contiguous copy here, of the same type, from any device or the host.
  Tensor copy(const sy_view& from) const;
  /// The same tensor when it is contiguous, else a copy.
  Tensor contiguous(const Tensor& t) const;
  /// Another float type; the same tensor when nothing changes.
  Tensor cast(const Tensor& t, sy_dtype to) const;
  void copy_into(const sy_view& to, const sy_view& from) const { copy_on(stream_, to, from); }
  /// On another stream of this device; one of the views may lie on another device of the backend.
  void copy_on(const Stream& stream, const sy_view& to, const sy_view& from) const;
  void cast_into(const sy_view& to, const sy_view& from) const;
  void accumulate(const sy_view& to, const sy_view& from) const;
  void zero(const sy_view& to) const;
  /// The first element, in row-major order, of a contiguous float tensor here that is NaN or infinite. Takes no memory
  /// on the device, and waits.
  std::optional<std::size_t> find_non_finite(const sy_view& v) const;
  /// Waits until everything enqueued is done.
  void wait() const { stream_.wait(); }

  /// False: whatever was called is done when the call returns.
  bool is_asynchronous() const { return id_.type != SY_DEVICE_CPU; }
  /// Marks what is enqueued so far; empty on a synchronous device. [any]
  Event mark() const { return is_asynchronous() ? stream_.mark() : Event(); }
  /// The same, with the time at which the stream gets there; also on a synchronous device. [any]
  Event mark_time() const { return stream_.mark(true); }
  void mark_time_again(const Event& event) const { stream_.mark_again(event); }
  /// Later work waits for the event. [any]
  void wait_for(const Event& event) const { stream_.wait_for(event); }
  std::unique_ptr<Stream> new_stream() const { return std::make_unique<Stream>(backend_, id_); }
  /// Copies from another device, after `ready` there. The source must stay until this device has done the copy; a
  /// synchronous device waits for it.
  void copy_from(const sy_view& to, const sy_view& from, const Device& source, const Event& ready) const;

  /// Makes the device current on this thread while it lives.
  class Current {
   public:
    explicit Current(const Device& device);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const Device& device_;
    uint64_t token_ = 0;
  };

 private:
  const sy_backend_api& api() const { return backend_->api(); }
  std::string name_;
  sy_device id_{};
  int64_t threads_ = 1;
  std::shared_ptr<OpenedBackend> backend_;
  sy_origin* account_ = nullptr;
  Stream stream_;
  std::unique_ptr<Stream> to_host_;  // copies that other devices' threads wait for; NULL when synchronous
};

}  // namespace switchyard
