#include "base/account.hpp"

bool sy_origin::charge(int64_t bytes) {
  const int64_t now = live.fetch_add(bytes) + bytes;
  if (bytes > 0 && budget != switchyard::no_budget && now > static_cast<int64_t>(budget)) {
    live.fetch_sub(bytes);
    return false;
  }
  int64_t seen = peak.load();
  while (now > seen && !peak.compare_exchange_weak(seen, now)) {
  }
  return true;
}

namespace switchyard {

sy_origin* make_account(const std::string& device, uint64_t budget) {
  auto* account = new sy_origin;  // leaked on purpose: blocks charged to it may be returned after its runtime is closed
  account->device = device;
  account->budget = budget;
  return account;
}

}  // namespace switchyard
