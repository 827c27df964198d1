#include "block_store.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <list>
#include <mutex>
#include <unordered_map>

#include "switchyard/cpp/torch.hpp"

namespace sy {
namespace {

constexpr std::size_t alignment = 256;  // products of some libraries change bits at smaller offsets

void* from_system(std::size_t bytes) {
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}

class block_store {
 public:
  void* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    void* memory = waiting_of(bytes);
    if (!memory) memory = from_system(bytes);
    if (!memory) {
      drop_down_to(0);
      memory = from_system(bytes);
    }
    if (memory) in_use_ += bytes, most_in_use_ = std::max(most_in_use_, in_use_);
    return memory;
  }

  void give_back(void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    in_use_ -= bytes;
    if (layers_ == 0) return std::free(memory);
    order_.push_front({memory, bytes});
    of_size_[bytes].push_back(order_.begin());
    waiting_ += bytes;
    drop_down_to(most_in_use_);
  }

  void layer_made() {
    const std::lock_guard lock(mutex_);
    ++layers_;
  }
  void layer_gone() {
    const std::lock_guard lock(mutex_);
    if (--layers_ > 0) return;
    drop_down_to(0);
    most_in_use_ = in_use_;
  }

 private:
  struct block {
    void* memory;
    std::size_t bytes;
  };

  /// The one that was in use last, whose pages are the likeliest in a cache.
  void* waiting_of(std::size_t bytes) {
    const auto found = of_size_.find(bytes);
    if (found == of_size_.end() || found->second.empty()) return nullptr;
    const auto at = found->second.back();
    void* memory = at->memory;
    found->second.pop_back();
    order_.erase(at);
    waiting_ -= bytes;
    return memory;
  }

  void drop_down_to(std::size_t bytes) {
    while (waiting_ > bytes) {
      const block oldest = order_.back();
      const auto found = of_size_.find(oldest.bytes);
      found->second.pop_front();
      if (found->second.empty()) of_size_.erase(found);
      order_.pop_back();
      waiting_ -= oldest.bytes;
      std::free(oldest.memory);
    }
  }

  std::mutex mutex_;
  std::list<block> order_;  // the newest first
  std::unordered_map<std::size_t, std::deque<std::list<block>::iterator>> of_size_;
  std::size_t waiting_ = 0, in_use_ = 0, most_in_use_ = 0, layers_ = 0;
};

block_store& store() {
  static auto* one = new block_store;  // LibTorch may free blocks after static destructors ran
  return *one;
}

}  // namespace

void* take_memory(std::size_t bytes) { return bytes < kept_from ? from_system(bytes) : store().take(bytes); }

void give_memory_back(void* memory, std::size_t bytes) {
  bytes < kept_from ? std::free(memory) : store().give_back(memory, bytes);
}

#ifdef __SANITIZE_ADDRESS__  // finds what uses freed memory, which must be freed for that
void layer_made() {}
void layer_gone() {}
#else
void layer_made() { store().layer_made(); }
void layer_gone() { store().layer_gone(); }
#endif

}  // namespace sy
