#include "switchyard/cpp/torch.hpp"

namespace sy {
namespace {

struct pair {
  sy_dtype ours;
  at::ScalarType theirs;
};
constexpr pair table[] = {
    {f32, at::kFloat},
    {bf16, at::kBFloat16},
    {f16, at::kHalf},
    {f64, at::kDouble},
    {i64, at::kLong},
    {i32, at::kInt},
    {u8, at::kByte},
    {{SY_INT, 8, 1}, at::kChar},
    {{SY_INT, 16, 1}, at::kShort},
    {{SY_BOOL, 8, 1}, at::kBool},
};

}  // namespace

at::ScalarType to_torch(sy_dtype type) {
  for (const pair& p : table)
    if (same(p.ours, type)) return p.theirs;
  throw fault(SY_E_ARGUMENT, "LibTorch layers know no element type of code " + std::to_string(type.code) + " with " +
                                 std::to_string(type.bits) + " bits and " + std::to_string(type.lanes) + " lanes");
}

sy_dtype from_torch(at::ScalarType type) {
  for (const pair& p : table)
    if (p.theirs == type) return p.ours;
  throw fault(SY_E_ARGUMENT, std::string("no element type of Switchyard is LibTorch's ") + c10::toString(type));
}

}  // namespace sy
