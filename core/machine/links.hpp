// How tensors get from one device to another, and how fast: looked up by class, so that 4,096 devices need no matrix.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "machine/basis.hpp"

namespace switchyard {

/// What is assumed of a link that nothing is known about.
inline constexpr double assumed_bytes_per_s = 1e10, assumed_latency_s = 1e-5;

/// The way from one device to another.
struct Link {
  double bytes_per_s = assumed_bytes_per_s;  // of a long tensor
  double latency_s = assumed_latency_s;      // before its first byte
  /// "none": one device; "memory": copied by a processor in its memory; "peer": from GPU to GPU; "host": through the
  /// memory of the host; "network": from host to host.
  const char* path = "memory";
  Basis basis = Basis::assumed;
  double seconds(uint64_t bytes) const { return latency_s + static_cast<double>(bytes) / bytes_per_s; }
};

/// Figures of all pairs of one kind: one number for all, or a square matrix, row = sender.
class PairFigures {
 public:
  PairFigures() = default;
  explicit PairFigures(double one) : values_{one} {}
  /// `values`: size x size.
  PairFigures(int size, std::vector<double> values) : size_(size), values_(std::move(values)) {}
  bool known() const { return !values_.empty(); }
  int size() const { return size_; }  // 0: one number
  double at(int from, int to) const { return size_ == 0 ? values_[0] : values_[from * size_ + to]; }

 private:
  int size_ = 0;
  std::vector<double> values_;
};

struct LinkClass {
  PairFigures bytes_per_s, latency_s;
};

/// Where a device of the plan is.
struct Seat {
  int host = 0;
  int slot = 0;      // among the devices of its host, also those that the plan does not use
  int32_t type = 0;  // SY_DEVICE_*
};

class Links {
 public:
  struct Figures {
    double bytes_per_s = 0, latency_s = 0;
  };
  Links() = default;
  /// Assumed figures; GPUs of one host are taken to reach each other.
  explicit Links(std::vector<Seat> seats) : seats_(std::move(seats)) {}
  /// `within`: between devices of one host, by slot; `between`: by host. `peer`: GPUs of one host reach each other.
  Links(std::vector<Seat> seats, LinkClass within, LinkClass between, bool peer);

  /// Measured figures between devices of two kinds, in place of others; `kinds`: of each device.
  void set_measured(std::vector<int> kinds, std::map<std::pair<int, int>, Figures> figures);

  /// From one device of the plan to another, by their indices.
  Link between(int from, int to) const;
  const Seat& seat(int device) const { return seats_[device]; }

 private:
  const char* path(const Seat& from, const Seat& to) const;

  std::vector<Seat> seats_;
  LinkClass within_, between_;
  std::vector<int> kinds_;  // empty: nothing is measured
  std::map<std::pair<int, int>, Figures> measured_;
  bool peer_ = true;
};

}  // namespace switchyard
