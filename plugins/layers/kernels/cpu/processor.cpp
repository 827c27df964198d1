#include "twins.hpp"

namespace sy::kernels {

namespace any {
extern const cpu_twins twins;
}
#ifdef __x86_64__
namespace avx2 {
extern const cpu_twins twins;
}
namespace avx512 {
extern const cpu_twins twins;
}
#endif

std::span<const processor_twins> all_processors() {
  static const processor_twins all[] = {
      {"any", true, &any::twins},
#ifdef __x86_64__
      {"avx2", __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"), &avx2::twins},
      {"avx512",
       __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl"),
       &avx512::twins},
#endif
  };
  return all;
}

const cpu_twins*& on_cpu() {
  static const cpu_twins* best = [] {
    const cpu_twins* found = nullptr;
    for (const processor_twins& each : all_processors())
      if (each.runs_here) found = each.twins;
    return found;
  }();
  return best;
}

}  // namespace sy::kernels
