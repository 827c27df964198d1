#include "check.hpp"
#include "embed_case.hpp"

using namespace kernels;

TEST_CASE("tokens and positions") {
  for (const sy_dtype type : all_types)
    for (const int64_t width : {1, 3, 17, 768, 2048})
      for (const bool positions : {false, true}) {
        const std::string of = name_of(type);
        CAPTURE(of);
        CAPTURE(width);
        check(Embed(3, 11, width, type, sy::i64, positions));
      }
  for (const sy_dtype ids :
       {sy::i32, sy::u8, sy_dtype{SY_INT, 8, 1}, sy_dtype{SY_INT, 16, 1}, sy_dtype{SY_UINT, 16, 1}})
    check(Embed(2, 5, 8, sy::f32, ids, true));
}

TEST_CASE("gradients of tokens and positions") {
  for (const sy_dtype type : all_types)
    for (const int64_t width : {1, 3, 17, 768, 2048}) {
      const std::string of = name_of(type);
      CAPTURE(of);
      CAPTURE(width);
      check(EmbedBackward(3, 11, width, 60, 20, type, sy::f32));
      check(EmbedBackward(2, 40, width, 60, 1, type, sy::bf16));  // one id everywhere
    }
  check(EmbedBackward(4, 100, 40, 300, 300, sy::bf16, sy::bf16));
  check(EmbedBackward(4, 10, 40, 300, 30, sy::f32, sy::f32, true, false));
  check(EmbedBackward(4, 10, 40, 300, 30, sy::f32, sy::f32, false, true));
  check(EmbedBackward(2, 9, 8, 100, 30, sy::f64, sy::f64, true, true, sy::u8));
}
