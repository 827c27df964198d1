#include "check.hpp"
#include "drop_case.hpp"

using namespace kernels;

TEST_CASE("what is dropped is what random.h says") {
  for (const sy_dtype type : all_types)
    for (const int64_t per_sample : {1, 3, 64, 100, 1024, 5001}) {
      const std::string of = name_of(type);
      CAPTURE(of);
      CAPTURE(per_sample);
      check(Drop(5, per_sample, type, 0.25, false));
      check(Drop(5, per_sample, type, 0.25, true, 2));
      check(Drop(3, per_sample, type, 0.6, per_sample % 2 == 0, 1));
    }
}

TEST_CASE("nothing or everything is dropped; what is dropped is zero whatever it was") {
  check(Drop(2, 100, sy::f32, 0, true));
  Drop all(2, 100, sy::f32, 1, false);
  all.x.set(7, INFINITY);
  all.x.set(8, NAN);
  Host host(1);
  all.run(host);
  for (int64_t i = 0; i < 200; ++i) CHECK(all.y.at(i) == 0);
}
