#include "twins.hpp"

namespace sy::kernels::SY_KERNELS_FOR {

const cpu_twins twins = {
#define SY_TWIN(name) name,
    SY_KERNELS_CPU_TWINS(SY_TWIN)
#undef SY_TWIN
        embed_backward,
};

}  // namespace sy::kernels::SY_KERNELS_FOR
