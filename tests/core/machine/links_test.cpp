#include "machine/links.hpp"

#include <doctest/doctest.h>

#include <string>

#include "switchyard/base.h"

using namespace switchyard;

namespace {

/// Two hosts of two GPUs and a processor.
std::vector<Seat> seats() {
  std::vector<Seat> all;
  for (int host = 0; host < 2; ++host)
    for (int slot = 0; slot < 3; ++slot) all.push_back({host, slot, slot < 2 ? SY_DEVICE_CUDA : SY_DEVICE_CPU});
  return all;
}

std::string path(const Links& links, int from, int to) { return links.between(from, to).path; }

}  // namespace

TEST_CASE("the way depends on hosts and types") {
  const Links peers(seats(), {PairFigures(4e9), PairFigures(1e-6)}, {PairFigures(1e9), PairFigures(1e-4)}, true);
  CHECK(path(peers, 0, 0) == "none");
  CHECK(path(peers, 0, 1) == "peer");
  CHECK(path(peers, 0, 2) == "host");
  CHECK(path(peers, 0, 3) == "network");
  CHECK(path(peers, 2, 5) == "network");
  const Links no_peers(seats(), {PairFigures(4e9), PairFigures(1e-6)}, {}, false);
  CHECK(path(no_peers, 0, 1) == "host");
  CHECK(path(Links({{0, 0, SY_DEVICE_CPU}, {0, 1, SY_DEVICE_CPU}}), 0, 1) == "memory");
}

TEST_CASE("one number for a class: latency and bytes") {
  const Links links(seats(), {PairFigures(4e9), PairFigures(1e-6)}, {PairFigures(1e9), PairFigures(1e-4)}, true);
  CHECK(links.between(0, 1).seconds(4000) == doctest::Approx(2e-6));
  CHECK(links.between(1, 3).seconds(1000000) == doctest::Approx(1.1e-3));
  CHECK(links.between(0, 1).basis == Basis::described);
}

TEST_CASE("a matrix is read by sender and receiver: slots within a host, hosts between them") {
  const PairFigures within(3, {0, 1e9, 2e9, 3e9, 0, 4e9, 5e9, 6e9, 0}), between(2, {0, 7e9, 8e9, 0});
  const Links links(seats(), {within, PairFigures(0.0)}, {between, PairFigures(0.0)}, true);
  CHECK(links.between(0, 2).bytes_per_s == 2e9);
  CHECK(links.between(2, 0).bytes_per_s == 5e9);
  CHECK(links.between(4, 5).bytes_per_s == 4e9);  // the second host's slots are the first one's
  CHECK(links.between(0, 5).bytes_per_s == 7e9);
  CHECK(links.between(5, 0).bytes_per_s == 8e9);
}

TEST_CASE("what is not described is assumed") {
  const Links links(seats(), {PairFigures(4e9), PairFigures(1e-6)}, {}, true);
  CHECK(links.between(0, 1).basis == Basis::described);
  CHECK(links.between(0, 3).basis == Basis::assumed);
  CHECK(links.between(0, 3).bytes_per_s == assumed_bytes_per_s);
}
