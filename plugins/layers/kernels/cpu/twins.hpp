// The CPU twins, once for each kind of processor that they are compiled for. Arguments were checked.
#pragma once

#include <span>
#include <type_traits>

#include "../columns.hpp"
#include "../drop.hpp"
#include "../embed.hpp"
#include "../pointwise.hpp"
#include "../rotary.hpp"
#include "../row_norm.hpp"
#include "../softmax_loss.hpp"

namespace sy::kernels {

/// `order`: the places of ids sorted by (id, place), each id * 2^32 + place.
using embed_backward_in_order = void(const lane&, const embed_size&, const uint64_t* order, const void* dy, sum token,
                                     sum position);

#define SY_KERNELS_CPU_TWINS(each)                                                                          \
  each(norm_forward) each(norm_backward) each(column_sum) each(pack) each(activate) each(activate_backward) \
      each(swiglu) each(swiglu_backward) each(add) each(rotate) each(softmax_loss) each(embed) each(drop)

struct cpu_twins {
#define SY_TWIN(name) decltype(&kernels::name) name;
  SY_KERNELS_CPU_TWINS(SY_TWIN)
#undef SY_TWIN
  embed_backward_in_order* embed_backward;
};

/// One set for each kind of processor, the best last.
struct processor_twins {
  const char* processor;
  bool runs_here;
  const cpu_twins* twins;
};
std::span<const processor_twins> all_processors();

/// What CPU lanes use: the best that runs here, until a test sets others.
const cpu_twins*& on_cpu();

}  // namespace sy::kernels

#ifdef SY_KERNELS_FOR
namespace sy::kernels::SY_KERNELS_FOR {
#define SY_TWIN(name) std::remove_pointer_t<decltype(&kernels::name)> name;
SY_KERNELS_CPU_TWINS(SY_TWIN)
#undef SY_TWIN
embed_backward_in_order embed_backward;
extern const cpu_twins twins;
}  // namespace sy::kernels::SY_KERNELS_FOR
#endif
