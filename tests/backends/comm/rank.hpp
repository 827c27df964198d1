// One rank of a group under test: a communicator's table, memory on the rank's device by way of a backend's table, and
// a folder in which the ranks meet apart from what is tested. Whatever is not as expected is thrown as
// std::runtime_error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/fake_host.hpp"

namespace comm_test {

struct Place {
  std::string comm;     // "nccl", "mpi"
  std::string backend;  // "cuda", "cpu"
  int device = 0;
  int rank = 0, ranks = 1;
  std::filesystem::path folder;  // the same for all ranks, empty at the start
};

void expect(bool true_, const std::string& what);

class Rank {
 public:
  explicit Rank(Place place);
  ~Rank();
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  const Place& at() const { return at_; }
  const sy_comm_api& api() const { return api_; }
  const sy_backend_api& backend() const { return backend_api_; }
  sy_backend* opened() const { return backend_; }
  sy_device device() const { return device_; }
  sy_stream* stream() const { return stream_; }
  void* native() const { return backend_api_.stream_native(backend_, stream_); }
  void wait() const;

  /// What `from` has to tell under this name, to all.
  std::string tell(const std::string& name, int from, const std::string& text) const;
  /// Everybody has come as far.
  void meet(const std::string& name) const;

  /// Makes an id on the first rank and joins; every rank calls it with the same name. Waits up to a minute.
  sy_comm* join(const std::string& name, int as_rank, int ranks) const;
  sy_comm* join(const std::string& name) const { return join(name, at_.rank, at_.ranks); }
  /// The same without waiting for the others.
  sy_comm* begin_to_join(const std::string& name, int as_rank, int ranks) const;

  /// Calls body(&err) and expects this code, and a text for any that is not SY_OK.
  template <class Body>
  void expect_code(sy_rc expected, const std::string& what, Body&& body) const {
    sy_error* err = nullptr;
    const sy_rc rc = body(&err);
    const std::string text = fake::taken(err).second;
    expect(rc == expected,
           what + ": expected code " + std::to_string(expected) + ", found " + std::to_string(rc) + " (" + text + ")");
    expect(rc == SY_OK || rc == SY_E_AGAIN || !text.empty(), what + ": code " + std::to_string(rc) + " without a text");
  }

 private:
  Place at_;
  const sy_comm_api& api_;
  const sy_backend_api& backend_api_;
  sy_backend* backend_ = nullptr;
  sy_device device_{};
  uint64_t token_ = 0;
  sy_stream* stream_ = nullptr;
};

/// Elements on the rank's device, 1-dimensional.
class Memory {
 public:
  Memory(const Rank& rank, int64_t count, sy_dtype dtype);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  /// All of it, or a part that begins at `first`.
  sy_view& view() { return part(0, count_); }
  sy_view& part(int64_t first, int64_t count);
  void put(const std::vector<double>& values);
  std::vector<double> get();

 private:
  const Rank& rank_;
  int64_t count_;
  sy_dtype dtype_;
  void* memory_ = nullptr;
  struct Part {
    int64_t shape[1], strides[1];
    sy_view view;
  };
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace comm_test
