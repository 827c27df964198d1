#include "base/account.hpp"

#include <algorithm>
#include <deque>
#include <mutex>

bool sy_origin::charge(int64_t bytes) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  const int64_t limit = static_cast<int64_t>(std::min<uint64_t>(budget, most));
  int64_t before = live.load();
  do {
    // Compared before it is added: a charge that fails is never seen by others, and nothing overflows.
    if (bytes > 0 && (before > limit || bytes > limit - std::max<int64_t>(before, 0))) {
      refused.store(bytes), live_at_refusal.store(before);
      return false;
    }
  } while (!live.compare_exchange_weak(before, before + bytes));
  int64_t seen = peak.load();
  while (before + bytes > seen && !peak.compare_exchange_weak(seen, before + bytes)) {
  }
  return true;
}

namespace switchyard {

sy_origin* make_account(const std::string& device, uint64_t budget) {
  struct Accounts {
    std::mutex mutex;
    std::deque<sy_origin> list;
  };
  static auto* all = new Accounts;  // never destroyed: blocks may be returned after their runtime, or main, has ended
  const std::lock_guard lock(all->mutex);
  sy_origin& account = all->list.emplace_back();
  account.device = device;
  account.budget = budget;
  return &account;
}

}  // namespace switchyard
