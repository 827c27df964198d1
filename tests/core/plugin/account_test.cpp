#include "base/account.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using switchyard::make_account;
using switchyard::no_budget;

TEST_CASE("a charge over the budget changes nothing") {
  sy_origin* a = make_account("cpu:0", 100);
  CHECK(a->charge(60));
  CHECK_FALSE(a->charge(41));
  CHECK(a->live == 60);
  CHECK(a->peak == 60);
  CHECK(a->charge(40));
  CHECK(a->charge(-100));
  CHECK(a->live == 0);
  CHECK(a->peak == 100);
}

TEST_CASE("the peak can be forgotten") {
  sy_origin* a = make_account("cpu:0", no_budget);
  a->charge(70);
  a->charge(-50);
  a->restart_peak();
  CHECK(a->peak == 20);
}

TEST_CASE("amounts that would overflow are over the budget") {
  sy_origin* a = make_account("cpu:0", no_budget);
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  CHECK(a->charge(most - 1));
  CHECK_FALSE(a->charge(2));
  CHECK_FALSE(a->charge(most));
  CHECK(a->live == most - 1);
  CHECK(make_account("cpu:0", 0)->charge(0));
  CHECK_FALSE(make_account("cpu:0", 0)->charge(1));
}

TEST_CASE("many threads never pass the budget, and none is refused for another's refused charge") {
  constexpr int threads = 4, rounds = 20000, bytes = 3;
  sy_origin* a = make_account("cpu:0", threads * bytes + 1);  // all fit at once; what does not fit never does
  std::atomic<int> refused{0}, accepted{0};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) {
        if (a->charge(threads * bytes + 2)) ++accepted;
        if (a->charge(bytes))
          a->charge(-bytes);
        else
          ++refused;
      }
    });
  for (std::thread& t : all) t.join();
  CHECK(refused == 0);
  CHECK(accepted == 0);
  CHECK(a->live == 0);
  CHECK(a->peak >= bytes);
  CHECK(a->peak <= threads * bytes);
}
