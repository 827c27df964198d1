#include "cases.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <future>
#include <thread>

namespace comm_test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Values = std::vector<double>;

struct Type {
  const char* name;
  sy_dtype dtype;
};
constexpr Type types[] = {{"fp64", {SY_FLOAT, 64, 1}},  {"fp32", {SY_FLOAT, 32, 1}}, {"fp16", {SY_FLOAT, 16, 1}},
                          {"bf16", {SY_BFLOAT, 16, 1}}, {"int64", {SY_INT, 64, 1}},  {"int32", {SY_INT, 32, 1}},
                          {"uint8", {SY_UINT, 8, 1}}};
constexpr sy_dtype f32 = types[1].dtype;
constexpr int64_t counts[] = {0, 1, 3, 1000, 65537};

/// Small whole numbers, of which every type holds the sums exactly.
double value(int rank, int64_t i) { return static_cast<double>((i * 7 + rank * 3) % 11); }
Values values(int rank, int64_t count) {
  Values v;
  for (int64_t i = 0; i < count; ++i) v.push_back(value(rank, i));
  return v;
}
Values sums(int ranks, int64_t count) {
  Values v(static_cast<std::size_t>(count), 0.0);
  for (int64_t i = 0; i < count; ++i)
    for (int r = 0; r < ranks; ++r) v[static_cast<std::size_t>(i)] += value(r, i);
  return v;
}

void expect_equal(const Values& found, const Values& expected, const std::string& what) {
  expect(found.size() == expected.size(),
         what + ": expected " + std::to_string(expected.size()) + " values, found " + std::to_string(found.size()));
  for (std::size_t i = 0; i < found.size(); ++i)
    expect(found[i] == expected[i], what + ": element " + std::to_string(i) + ": expected " +
                                        std::to_string(expected[i]) + ", found " + std::to_string(found[i]));
}

/// A communicator that is closed at the end; nobody closes before everybody has come there.
class Joined {
 public:
  Joined(const Rank& rank, const std::string& name) : Joined(rank, name, rank.at().rank) {}
  Joined(const Rank& rank, const std::string& name, int as_rank)
      : rank_(rank), name_(name), comm_(rank.join(name, as_rank, rank.at().ranks)) {}
  ~Joined() { rank_.api().close(comm_); }
  Joined(const Joined&) = delete;
  sy_comm* get() const { return comm_; }

  void all_reduce(const sy_view& to, const sy_view& from) const {
    must([&](sy_error** e) {
      return rank_.api().all_reduce(comm_, &to, &from, SY_REDUCE_SUM, rank_.stream(), rank_.native(), e);
    });
  }
  void reduce_scatter(const sy_view& to, const sy_view& from) const {
    must([&](sy_error** e) {
      return rank_.api().reduce_scatter(comm_, &to, &from, SY_REDUCE_SUM, rank_.stream(), rank_.native(), e);
    });
  }
  void all_gather(const sy_view& to, const sy_view& from) const {
    must([&](sy_error** e) { return rank_.api().all_gather(comm_, &to, &from, rank_.stream(), rank_.native(), e); });
  }
  void broadcast(const sy_view& both, int root) const {
    must([&](sy_error** e) { return rank_.api().broadcast(comm_, &both, root, rank_.stream(), rank_.native(), e); });
  }
  void send(const sy_view& from, int to) const {
    must([&](sy_error** e) { return rank_.api().send(comm_, &from, to, rank_.stream(), rank_.native(), e); });
  }
  void recv(const sy_view& to, int from) const {
    must([&](sy_error** e) { return rank_.api().recv(comm_, &to, from, rank_.stream(), rank_.native(), e); });
  }
  void group(const std::function<void()>& body) const {
    must([&](sy_error** e) { return rank_.api().group_begin(comm_, e); });
    body();
    must([&](sy_error** e) { return rank_.api().group_end(comm_, e); });
  }

 private:
  template <class Body>
  static void must(Body&& body) {
    fake::must(body);
  }
  const Rank& rank_;
  std::string name_;
  sy_comm* comm_;
};

std::string in_words(const char* what, const Type& type, int64_t count, bool in_place) {
  return std::string(what) + " of " + std::to_string(count) + " " + type.name + (in_place ? ", in place" : "");
}

template <class Body>
void for_all(const char* what, Body&& body) {
  for (const Type& type : types)
    for (const int64_t count : counts)
      for (const bool in_place : {false, true}) body(type, count, in_place, in_words(what, type, count, in_place));
}

// ---- operations --------------------------------------------------------------------------------------------------

void all_reduce(const Rank& rank) {
  const Joined comm(rank, "all_reduce");
  for_all("all_reduce", [&](const Type& type, int64_t count, bool in_place, const std::string& what) {
    Memory from(rank, count, type.dtype), other(rank, count, type.dtype);
    Memory& to = in_place ? from : other;
    from.put(values(rank.at().rank, count));
    comm.all_reduce(to.view(), from.view());
    expect_equal(to.get(), sums(rank.at().ranks, count), what);
    if (!in_place) expect_equal(from.get(), values(rank.at().rank, count), what + ", source");
  });
}

void reduce_scatter(const Rank& rank) {
  const Joined comm(rank, "reduce_scatter");
  const auto [me, ranks] = std::pair(rank.at().rank, rank.at().ranks);
  for_all("reduce_scatter", [&](const Type& type, int64_t count, bool in_place, const std::string& what) {
    Memory from(rank, count * ranks, type.dtype), other(rank, count, type.dtype);
    from.put(values(me, count * ranks));
    comm.reduce_scatter(in_place ? from.part(me * count, count) : other.view(), from.view());
    const Values all = sums(ranks, count * ranks), found = in_place ? from.get() : other.get();
    const auto piece = [&](const Values& v) { return Values(v.begin() + me * count, v.begin() + (me + 1) * count); };
    expect_equal(in_place ? piece(found) : found, piece(all), what);
  });
}

void all_gather(const Rank& rank) {
  const Joined comm(rank, "all_gather");
  const auto [me, ranks] = std::pair(rank.at().rank, rank.at().ranks);
  for_all("all_gather", [&](const Type& type, int64_t count, bool in_place, const std::string& what) {
    Memory from(rank, count, type.dtype), to(rank, count * ranks, type.dtype);
    from.put(values(me, count));
    Values before(static_cast<std::size_t>(count * ranks), 99.0), expected;
    if (in_place) std::ranges::copy(values(me, count), before.begin() + me * count);
    to.put(before);
    comm.all_gather(to.view(), in_place ? to.part(me * count, count) : from.view());
    for (int r = 0; r < ranks; ++r)
      for (const double v : values(r, count)) expected.push_back(v);
    expect_equal(to.get(), expected, what);
  });
}

void broadcast(const Rank& rank) {
  const Joined comm(rank, "broadcast");
  for (int root = 0; root < rank.at().ranks; ++root)
    for (const Type& type : types)
      for (const int64_t count : counts) {
        Memory both(rank, count, type.dtype);
        both.put(values(rank.at().rank, count));
        comm.broadcast(both.view(), root);
        expect_equal(both.get(), values(root, count),
                     in_words("broadcast", type, count, true) + " from " + std::to_string(root));
      }
}

/// Two messages to the next rank and two from the one before, all begun together; alone: to itself.
void rings(const Rank& rank) {
  const Joined comm(rank, "rings");
  const int me = rank.at().rank, ranks = rank.at().ranks, next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
  for (const Type& type : types)
    for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{777}, int64_t{300001}}) {
      Memory out(rank, count, type.dtype), out_2(rank, 5, type.dtype), in(rank, count, type.dtype),
          in_2(rank, 5, type.dtype);
      out.put(values(me, count));
      out_2.put(values(me + 1, 5));
      comm.group([&] {
        comm.send(out.view(), next);
        comm.recv(in.view(), before);
        comm.send(out_2.view(), next);
        comm.recv(in_2.view(), before);
      });
      expect_equal(in.get(), values(before, count), in_words("ring", type, count, false));
      expect_equal(in_2.get(), values(before + 1, 5), in_words("ring, second message", type, 5, false));
    }
}

/// From the first rank through all of them to the last, as stages of a pipeline do.
void chain(const Rank& rank) {
  const Joined comm(rank, "chain");
  const int me = rank.at().rank, last = rank.at().ranks - 1;
  Memory token(rank, 12345, f32);
  for (int round = 0; round < 20; ++round) {
    if (me == 0) token.put(values(round, 12345));
    if (me > 0) comm.recv(token.view(), me - 1);
    if (me < last) comm.send(token.view(), me + 1);
    expect_equal(token.get(), values(round, 12345), "chain, round " + std::to_string(round));
  }
}

/// Two groups of the same ranks, numbered from the other end in the second one, in use at the same time.
void two_groups(const Rank& rank) {
  const int me = rank.at().rank, ranks = rank.at().ranks;
  const Joined forwards(rank, "forwards"), backwards(rank, "backwards", ranks - 1 - me);
  Memory a(rank, 101, f32), b(rank, 101, f32);
  for (int root = 0; root < ranks; ++root) {
    a.put(values(me, 101));
    b.put(values(me, 101));
    forwards.broadcast(a.view(), root);
    backwards.broadcast(b.view(), root);
    expect_equal(a.get(), values(root, 101), "broadcast forwards from " + std::to_string(root));
    expect_equal(b.get(), values(ranks - 1 - root, 101), "broadcast backwards from " + std::to_string(root));
  }
}

// ---- mistakes ----------------------------------------------------------------------------------------------------

void wrong_views(const Rank& rank, sy_comm* comm) {
  const sy_comm_api& api = rank.api();
  Memory a(rank, 8, f32), b(rank, 8, f32), whole(rank, 8 * rank.at().ranks + 8, f32);
  const auto reduce = [&](const std::string& what, const sy_view* to, const sy_view* from, int32_t op = SY_REDUCE_SUM) {
    rank.expect_code(SY_E_ARGUMENT, what,
                     [&](sy_error** e) { return api.all_reduce(comm, to, from, op, rank.stream(), rank.native(), e); });
  };
  reduce("no view", &a.view(), nullptr);
  reduce("another count", &a.part(0, 7), &b.view());
  reduce("overlapping views", &a.part(0, 4), &a.part(2, 4));
  reduce("an unknown reduction", &a.view(), &b.view(), 4711);
  sy_view wrong = b.view();
  wrong.dtype = {SY_BOOL, 8, 1};
  reduce("bool", &wrong, &wrong);
  wrong.dtype = {SY_INT, 32, 1};
  reduce("two types", &a.view(), &wrong);
  wrong = b.view();
  wrong.device.index += 1;
  reduce("another device", &a.view(), &wrong);
  int64_t every_other[1] = {2}, four[1] = {4};
  wrong = b.view();
  wrong.shape = four, wrong.strides = every_other;
  reduce("a view with gaps", &a.part(0, 4), &wrong);

  rank.expect_code(SY_E_ARGUMENT, "reduce_scatter of another count", [&](sy_error** e) {
    return api.reduce_scatter(comm, &a.view(), &whole.view(), SY_REDUCE_SUM, rank.stream(), rank.native(), e);
  });
  rank.expect_code(SY_E_ARGUMENT, "all_gather of another count", [&](sy_error** e) {
    return api.all_gather(comm, &whole.view(), &a.view(), rank.stream(), rank.native(), e);
  });
  rank.expect_code(SY_E_ARGUMENT, "all_gather that overlaps", [&](sy_error** e) {
    return api.all_gather(comm, &whole.part(0, 8 * rank.at().ranks), &whole.part(8 * rank.at().rank + 1, 8),
                          rank.stream(), rank.native(), e);
  });
}

void wrong_ranks(const Rank& rank, sy_comm* comm) {
  const sy_comm_api& api = rank.api();
  Memory a(rank, 8, f32);
  for (const int peer : {-1, rank.at().ranks, rank.at().rank}) {
    const std::string to = "to rank " + std::to_string(peer);
    rank.expect_code(SY_E_ARGUMENT, "send " + to,
                     [&](sy_error** e) { return api.send(comm, &a.view(), peer, rank.stream(), rank.native(), e); });
    rank.expect_code(SY_E_ARGUMENT, "recv " + to,
                     [&](sy_error** e) { return api.recv(comm, &a.view(), peer, rank.stream(), rank.native(), e); });
  }
  rank.expect_code(SY_E_ARGUMENT, "broadcast from nobody", [&](sy_error** e) {
    return api.broadcast(comm, &a.view(), rank.at().ranks, rank.stream(), rank.native(), e);
  });
}

void wrong_groups(const Rank& rank, sy_comm* comm) {
  const sy_comm_api& api = rank.api();
  Memory a(rank, 8, f32);
  rank.expect_code(SY_E_STATE, "an end without a beginning", [&](sy_error** e) { return api.group_end(comm, e); });
  rank.expect_code(SY_OK, "a group", [&](sy_error** e) { return api.group_begin(comm, e); });
  rank.expect_code(SY_E_STATE, "a group in a group", [&](sy_error** e) { return api.group_begin(comm, e); });
  rank.expect_code(SY_E_STATE, "a reduction in a group", [&](sy_error** e) {
    return api.all_reduce(comm, &a.view(), &a.view(), SY_REDUCE_SUM, rank.stream(), rank.native(), e);
  });
  rank.expect_code(SY_OK, "an empty group", [&](sy_error** e) { return api.group_end(comm, e); });
}

void mistakes(const Rank& rank) {
  const Joined comm(rank, "mistakes");
  wrong_views(rank, comm.get());
  wrong_ranks(rank, comm.get());
  wrong_groups(rank, comm.get());
  Memory a(rank, 8, f32);  // and the group is none the worse
  a.put(values(rank.at().rank, 8));
  comm.all_reduce(a.view(), a.view());
  expect_equal(a.get(), sums(rank.at().ranks, 8), "all_reduce after mistakes");
}

void wrong_joins(const Rank& rank) {
  const sy_comm_api& api = rank.api();
  char id[4096];
  uint32_t bytes = 0;
  rank.expect_code(SY_E_RANGE, "an id into one byte",
                   [&](sy_error** e) { return api.make_id(fake::host(), nullptr, id, 1, &bytes, e); });
  expect(bytes > 1 && bytes <= sizeof id, "an id of " + std::to_string(bytes) + " bytes");
  const auto refused = [&](const std::string& what, sy_comm_join join) {
    sy_comm* comm = nullptr;
    rank.expect_code(SY_E_ARGUMENT, what,
                     [&](sy_error** e) { return api.open(fake::host(), nullptr, &join, &comm, e); });
    expect(comm == nullptr, what + ": yet something was given");
  };
  rank.expect_code(SY_OK, "an id",
                   [&](sy_error** e) { return api.make_id(fake::host(), nullptr, id, sizeof id, &bytes, e); });
  const sy_device other = {rank.device().type == SY_DEVICE_CPU ? SY_DEVICE_CUDA : SY_DEVICE_CPU, 0};
  refused("rank 2 of 2", {sizeof(sy_comm_join), bytes, id, 2, 2, rank.device()});
  refused("rank -1", {sizeof(sy_comm_join), bytes, id, -1, 2, rank.device()});
  refused("no ranks", {sizeof(sy_comm_join), bytes, id, 0, 0, rank.device()});
  refused("no id", {sizeof(sy_comm_join), 0, nullptr, 0, 1, rank.device()});
  refused("an id of another kind", {sizeof(sy_comm_join), 5, "hello", 0, 1, rank.device()});
  refused("another type of device", {sizeof(sy_comm_join), bytes, id, 0, 1, other});
  api.close(nullptr);
}

// ---- aborts ------------------------------------------------------------------------------------------------------

void expect_aborted(const Rank& rank, sy_comm* comm) {
  const sy_comm_api& api = rank.api();
  Memory a(rank, 8, f32), all(rank, 8 * rank.at().ranks, f32);
  const auto aborted = [&](const std::string& what, const std::function<sy_rc(sy_error**)>& call) {
    rank.expect_code(SY_E_ABORTED, what + " after an abort", call);
  };
  sy_stream* const s = rank.stream();
  void* const n = rank.native();
  aborted("status", [&](sy_error** e) { return api.status(comm, e); });
  aborted("all_reduce",
          [&](sy_error** e) { return api.all_reduce(comm, &a.view(), &a.view(), SY_REDUCE_SUM, s, n, e); });
  aborted("reduce_scatter",
          [&](sy_error** e) { return api.reduce_scatter(comm, &a.view(), &all.view(), SY_REDUCE_SUM, s, n, e); });
  aborted("all_gather", [&](sy_error** e) { return api.all_gather(comm, &all.view(), &a.view(), s, n, e); });
  aborted("broadcast", [&](sy_error** e) { return api.broadcast(comm, &a.view(), 0, s, n, e); });
  aborted("send", [&](sy_error** e) { return api.send(comm, &a.view(), 0, s, n, e); });
  aborted("recv", [&](sy_error** e) { return api.recv(comm, &a.view(), 0, s, n, e); });
  aborted("group_begin", [&](sy_error** e) { return api.group_begin(comm, e); });
  rank.expect_code(SY_OK, "a second abort", [&](sy_error** e) { return api.abort(comm, e); });
}

/// The last rank does not take part; the others wait for it until they are aborted, in a call or for their stream.
/// `first`: before the ranks have ever talked; else afterwards, when connections are there.
void abort_while_waiting(const Rank& rank, const std::string& name, bool first) {
  const int last = rank.at().ranks - 1;
  sy_comm* comm = rank.join(name);
  Memory a(rank, 1 << 20, f32);
  a.put(Values(1 << 20, 1.0));
  if (!first) {
    rank.expect_code(SY_OK, "all_reduce", [&](sy_error** e) {
      return rank.api().all_reduce(comm, &a.view(), &a.view(), SY_REDUCE_SUM, rank.stream(), rank.native(), e);
    });
    rank.wait();
  }
  rank.meet(name + ".ready");
  if (rank.at().rank != last) {
    sy_view& view = a.view();
    std::future<void> waiting = std::async(std::launch::async, [&] {
      uint64_t token = 0;
      fake::must([&](sy_error** e) { return rank.backend().enter(rank.opened(), rank.device(), &token, e); });
      sy_error* err = nullptr;
      const sy_rc rc = rank.api().all_reduce(comm, &view, &view, SY_REDUCE_SUM, rank.stream(), rank.native(), &err);
      const std::string text = fake::taken(err).second;
      rank.backend().stream_sync(rank.opened(), rank.stream(), nullptr);
      rank.backend().leave(rank.opened(), token);
      expect(rc == SY_OK || rc == SY_E_ABORTED, "all_reduce, aborted: code " + std::to_string(rc) + ", " + text);
    });
    expect(waiting.wait_for(500ms) == std::future_status::timeout,
           "all_reduce did not wait for a rank that takes no part");
    const auto before = Clock::now();
    rank.expect_code(SY_OK, "abort", [&](sy_error** e) { return rank.api().abort(comm, e); });
    expect(waiting.wait_for(10s) == std::future_status::ready, "whoever waited still does, 10 seconds after the abort");
    waiting.get();
    std::printf("  abort woke rank %d after %.3f s\n", rank.at().rank,
                std::chrono::duration<double>(Clock::now() - before).count());
  } else {
    if (last > 0) std::this_thread::sleep_for(1s);
    rank.expect_code(SY_OK, "abort", [&](sy_error** e) { return rank.api().abort(comm, e); });
  }
  expect_aborted(rank, comm);
  rank.api().close(comm);
}

void abort_at_first(const Rank& rank) { abort_while_waiting(rank, "abort_at_first", true); }
void abort_later(const Rank& rank) { abort_while_waiting(rank, "abort_later", false); }

void missing_peer(const Rank& rank) {
  const int ranks = std::max(2, rank.at().ranks);
  if (rank.at().ranks == 1 && rank.at().comm == "mpi") return;  // knows that there is no second process
  if (rank.at().rank == ranks - 1) {
    rank.tell("missing_peer.id", 0, "");  // it knows, and stays away
    rank.meet("missing_peer.done");
    return;
  }
  sy_comm* comm = rank.begin_to_join("missing_peer", rank.at().rank, ranks);
  for (const auto end = Clock::now() + 1s; Clock::now() < end; std::this_thread::sleep_for(20ms))
    rank.expect_code(SY_E_AGAIN, "status without the last rank",
                     [&](sy_error** e) { return rank.api().status(comm, e); });
  Memory a(rank, 8, f32);
  rank.expect_code(SY_E_STATE, "all_reduce without the last rank", [&](sy_error** e) {
    return rank.api().all_reduce(comm, &a.view(), &a.view(), SY_REDUCE_SUM, rank.stream(), rank.native(), e);
  });
  const auto before = Clock::now();
  rank.expect_code(SY_OK, "abort", [&](sy_error** e) { return rank.api().abort(comm, e); });
  expect(Clock::now() - before < 10s, "the abort took more than 10 seconds");
  rank.expect_code(SY_E_ABORTED, "status after an abort", [&](sy_error** e) { return rank.api().status(comm, e); });
  rank.api().close(comm);
  rank.meet("missing_peer.done");
}

struct Case {
  const char* name;
  void (*run)(const Rank&);
};
constexpr Case cases[] = {{"wrong_joins", wrong_joins},
                          {"all_reduce", all_reduce},
                          {"reduce_scatter", reduce_scatter},
                          {"all_gather", all_gather},
                          {"broadcast", broadcast},
                          {"rings", rings},
                          {"chain", chain},
                          {"two_groups", two_groups},
                          {"mistakes", mistakes},
                          {"abort_at_first", abort_at_first},
                          {"abort_later", abort_later},
                          {"missing_peer", missing_peer}};

}  // namespace

std::vector<std::string> run_cases(const Place& place) {
  std::string doing = "starting";
  const std::string who = "rank " + std::to_string(place.rank) + " of " + std::to_string(place.ranks);
  try {
    const Rank rank(place);
    for (const Case& c : cases) {
      doing = c.name;
      rank.meet(std::string("before.") + c.name);
      const auto began = Clock::now();
      c.run(rank);
      std::printf("%s, %s: %s ok, %.2f s\n", place.comm.c_str(), who.c_str(), c.name,
                  std::chrono::duration<double>(Clock::now() - began).count());
      std::fflush(stdout);
    }
    rank.meet("end");
  } catch (const std::exception& e) {
    return {place.comm + ", " + who + ": " + doing + ": " + e.what()};
  }
  return {};
}

}  // namespace comm_test
