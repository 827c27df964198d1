// switchyard/cpp/comm.hpp - header-only C++20 help for authors of communicators. It fills the table of comm.h, checks every
// argument, collects the transfers of a group, and remembers an abort. Nothing here is ABI.
//
//   struct Mine {
//     static constexpr const char* id = "mine";
//     static constexpr const char* help = "by carrier pigeon";
//     static constexpr int32_t device_type = SY_DEVICE_CPU;
//     static std::vector<char> make_id(const sy_config*);
//     Mine(const sy_config*, const sy::joining&, const std::atomic<bool>& aborted);  // begins, does not wait
//     sy_rc status();                                                                // SY_OK, SY_E_AGAIN or a fault
//     void abort();                                                                  // once; `aborted` is set before
//     void exchange(std::span<const sy::transfer>, void* native_stream);             // in this order, begun together
//     void all_reduce(void* to, const void* from, int64_t count, sy_dtype, void* native_stream);      // sums
//     void reduce_scatter(void* to, const void* from, int64_t count, sy_dtype, void* native_stream);  // count of `to`
//     void all_gather(void* to, const void* from, int64_t count, sy_dtype, void* native_stream);      // count of `from`
//     void broadcast(void* both, int64_t count, sy_dtype, int32_t root, void* native_stream);
//   };
//   static constexpr sy_export exports[] = {sy::export_comm<Mine>()};
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "plugin.hpp"

namespace sy {

/// A sy_comm_join that was checked.
struct joining {
  std::string id; // bytes
  int32_t rank = 0, ranks = 1;
  sy_device device{};
};

/// One send (`from_here`) or receive.
struct transfer {
  bool from_here = true;
  int32_t peer = 0;
  void* data = nullptr;
  int64_t count = 0;
  sy_dtype dtype{};
};

constexpr sy_dtype comm_dtypes[] = {f64, f32, f16, bf16, i64, i32, u8};

template <class C>
struct comm_table {
  struct box {
    const joining at;
    std::atomic<bool> aborted{false};
    bool grouping = false;
    std::vector<transfer> group;
    void* group_stream = nullptr;
    C comm;
    box(const sy_config* options, joining j) : at(std::move(j)), comm(options, at, aborted) {}
  };
  static box& self(sy_comm* c) { return *reinterpret_cast<box*>(c); }

  static std::string name_of(sy_device d) { return "type " + std::to_string(d.type) + ", index " + std::to_string(d.index); }
  static void expect_alive(const box& b) {
    if (b.aborted) throw fault(SY_E_ABORTED, std::string(C::id) + ": the communicator was aborted");
  }
  static void expect_rank(const box& b, int32_t rank, const char* what) {
    if (rank < 0 || rank >= b.at.ranks)
      throw fault(SY_E_ARGUMENT, std::string(what) + ": expected a rank from 0 to " + std::to_string(b.at.ranks - 1) + ", found " +
                                     std::to_string(rank));
  }
  static void expect_sum(int32_t op) {
    if (op != SY_REDUCE_SUM)
      throw fault(SY_E_ARGUMENT, "expected the reduction " + std::to_string(SY_REDUCE_SUM) + ", a sum; found " + std::to_string(op));
  }
  /// How many elements lie at data(v).
  static int64_t expect_view(const box& b, const sy_view* v) {
    if (!v) throw fault(SY_E_ARGUMENT, "expected a view, found NULL");
    if (v->device.type != b.at.device.type || v->device.index != b.at.device.index)
      throw fault(SY_E_ARGUMENT, "expected a view on the rank's device, " + name_of(b.at.device) + "; found " + name_of(v->device));
    if (std::none_of(std::begin(comm_dtypes), std::end(comm_dtypes), [&](sy_dtype t) { return same(t, v->dtype); }))
      throw fault(SY_E_ARGUMENT, "expected fp64, fp32, fp16, bf16, int64, int32 or uint8; found type code " +
                                     std::to_string(v->dtype.code) + " of " + std::to_string(v->dtype.bits) + " bits");
    const int64_t n = sy::count(*v);
    int64_t stride = 1;
    for (int32_t d = v->ndim; n > 0 && d-- > 0; stride *= v->shape[d])
      if (v->shape[d] != 1 && v->strides[d] != stride) throw fault(SY_E_ARGUMENT, "expected a contiguous view");
    if (n > 0 && !v->data) throw fault(SY_E_ARGUMENT, "expected " + std::to_string(n) + " elements, found no memory");
    return n;
  }
  static void expect_alike(const sy_view& to, int64_t n_to, const sy_view& from, int64_t n_from) {
    if (!same(to.dtype, from.dtype)) throw fault(SY_E_ARGUMENT, "expected two views of one type");
    if (n_to != n_from)
      throw fault(SY_E_ARGUMENT, "expected " + std::to_string(n_to) + " elements, found " + std::to_string(n_from));
  }
  /// `part` may be piece number `rank` of `whole` and overlap nothing else of it.
  static void expect_in_place(const box& b, const sy_view& whole, const sy_view& part, int64_t n) {
    const auto bytes = n * part.dtype.bits / 8;
    const char *w = data<char>(whole), *p = data<char>(part);
    if (p < w + b.at.ranks * bytes && w < p + bytes && p != w + b.at.rank * bytes)
      throw fault(SY_E_ARGUMENT, "the views overlap; only the piece of the rank's own number may be the other view");
  }
  static void expect_equal_or_apart(const sy_view& to, const sy_view& from, int64_t n) {
    const auto bytes = n * to.dtype.bits / 8;
    const char *a = data<char>(to), *b = data<char>(from);
    if (a != b && a < b + bytes && b < a + bytes) throw fault(SY_E_ARGUMENT, "the views overlap, and are not the same");
  }
  static void expect_no_group(const box& b) {
    if (b.grouping) throw fault(SY_E_STATE, "only sends and receives may stand in a group");
  }

  static sy_rc make_id(const sy_host*, const sy_config* options, void* out, uint32_t capacity, uint32_t* bytes, sy_error** err) {
    return guard(err, [&] {
      const std::vector<char> made = C::make_id(options);
      *bytes = static_cast<uint32_t>(made.size());
      if (made.size() > capacity) throw fault(SY_E_RANGE, "an id takes " + std::to_string(made.size()) + " bytes");
      std::memcpy(out, made.data(), made.size());
    });
  }
  static sy_rc open(const sy_host*, const sy_config* options, const sy_comm_join* join, sy_comm** give, sy_error** err) {
    return guard(err, [&] {
      sy_comm_join j{};
      std::memcpy(&j, join, std::min<std::size_t>(join->size, sizeof(j)));
      if (j.ranks < 1 || j.rank < 0 || j.rank >= j.ranks)
        throw fault(SY_E_ARGUMENT, "rank " + std::to_string(j.rank) + " of " + std::to_string(j.ranks) + " cannot be");
      if (j.device.type != C::device_type)
        throw fault(SY_E_ARGUMENT, std::string(C::id) + ": expected a device of type " + std::to_string(C::device_type) + ", found " +
                                       name_of(j.device));
      if (!j.id || j.id_bytes == 0) throw fault(SY_E_ARGUMENT, "the id of the group is missing; make_id makes one");
      *give = reinterpret_cast<sy_comm*>(
          new box(options, {std::string(static_cast<const char*>(j.id), j.id_bytes), j.rank, j.ranks, j.device}));
    });
  }
  static sy_rc status(sy_comm* c, sy_error** err) {
    sy_rc now = SY_OK;
    const sy_rc rc = guard(err, [&] {
      expect_alive(self(c));
      now = self(c).comm.status();
    });
    return rc == SY_OK ? now : rc;
  }
  static sy_rc abort(sy_comm* c, sy_error** err) {
    return guard(err, [&] {
      if (!self(c).aborted.exchange(true)) self(c).comm.abort();
    });
  }
  static void close(sy_comm* take) { delete reinterpret_cast<box*>(take); }

  static sy_rc transfer_of(sy_comm* c, bool from_here, const sy_view* view, int32_t peer, void* native, sy_error** err) {
    return guard(err, [&] {
      box& b = self(c);
      expect_alive(b);
      expect_rank(b, peer, from_here ? "send" : "recv");
      const transfer t{from_here, peer, view ? data(*view) : nullptr, expect_view(b, view), view->dtype};
      if (b.grouping) {
        if (!b.group.empty() && b.group_stream != native) throw fault(SY_E_ARGUMENT, "a group runs on one stream");
        b.group_stream = native;
        if (t.count > 0) b.group.push_back(t);
        return;
      }
      if (peer == b.at.rank) throw fault(SY_E_ARGUMENT, "a rank sends to itself within a group only");
      if (t.count > 0) b.comm.exchange({&t, 1}, native);
    });
  }
  static sy_rc send(sy_comm* c, const sy_view* from, int32_t to, sy_stream*, void* native, sy_error** err) {
    return transfer_of(c, true, from, to, native, err);
  }
  static sy_rc recv(sy_comm* c, const sy_view* to, int32_t from, sy_stream*, void* native, sy_error** err) {
    return transfer_of(c, false, to, from, native, err);
  }

  static sy_rc all_reduce(sy_comm* c, const sy_view* to, const sy_view* from, int32_t op, sy_stream*, void* native, sy_error** err) {
    return guard(err, [&] {
      box& b = self(c);
      expect_alive(b), expect_no_group(b), expect_sum(op);
      const int64_t n = expect_view(b, from);
      expect_alike(*to, expect_view(b, to), *from, n);
      expect_equal_or_apart(*to, *from, n);
      if (n > 0) b.comm.all_reduce(data(*to), data(*from), n, from->dtype, native);
    });
  }
  static sy_rc reduce_scatter(sy_comm* c, const sy_view* to, const sy_view* from, int32_t op, sy_stream*, void* native,
                              sy_error** err) {
    return guard(err, [&] {
      box& b = self(c);
      expect_alive(b), expect_no_group(b), expect_sum(op);
      const int64_t n = expect_view(b, to);
      expect_alike(*to, b.at.ranks * n, *from, expect_view(b, from));
      expect_in_place(b, *from, *to, n);
      if (n > 0) b.comm.reduce_scatter(data(*to), data(*from), n, to->dtype, native);
    });
  }
  static sy_rc all_gather(sy_comm* c, const sy_view* to, const sy_view* from, sy_stream*, void* native, sy_error** err) {
    return guard(err, [&] {
      box& b = self(c);
      expect_alive(b), expect_no_group(b);
      const int64_t n = expect_view(b, from);
      expect_alike(*from, b.at.ranks * n, *to, expect_view(b, to));
      expect_in_place(b, *to, *from, n);
      if (n > 0) b.comm.all_gather(data(*to), data(*from), n, from->dtype, native);
    });
  }
  static sy_rc broadcast(sy_comm* c, const sy_view* both, int32_t root, sy_stream*, void* native, sy_error** err) {
    return guard(err, [&] {
      box& b = self(c);
      expect_alive(b), expect_no_group(b), expect_rank(b, root, "broadcast");
      const int64_t n = expect_view(b, both);
      if (n > 0) b.comm.broadcast(data(*both), n, both->dtype, root, native);
    });
  }
  static sy_rc group_begin(sy_comm* c, sy_error** err) {
    return guard(err, [&] {
      expect_alive(self(c));
      if (std::exchange(self(c).grouping, true)) throw fault(SY_E_STATE, "groups do not nest");
    });
  }
  static sy_rc group_end(sy_comm* c, sy_error** err) {
    return guard(err, [&] {
      box& b = self(c);
      if (!std::exchange(b.grouping, false)) throw fault(SY_E_STATE, "no group was begun");
      const std::vector<transfer> group = std::exchange(b.group, {});
      expect_alive(b);
      if (!group.empty()) b.comm.exchange(group, b.group_stream);
    });
  }

  static constexpr sy_comm_api table{sizeof(sy_comm_api), 0, C::id, C::help, option_pointers<C>::value.at, option_count<C>(),
                                     C::device_type, make_id, open, status, abort, close, send, recv, all_reduce,
                                     reduce_scatter, all_gather, broadcast, group_begin, group_end, nullptr};
};

template <class C>
constexpr sy_export export_comm() { return {SY_KIND_COMM, &comm_table<C>::table}; }

}  // namespace sy
