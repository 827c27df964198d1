#include "allocator.hpp"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <new>

#include "block_store.hpp"
#include "switchyard/cpp/torch.hpp"

namespace sy {
namespace {

thread_local const sy_origin* running = nullptr;
thread_local sy_error** refusal = nullptr;

/// Lies before each block, so that the block goes back to the account that paid, on whatever thread it is freed.
struct block {
  const sy_origin* origin;
  int64_t bytes;
};
constexpr std::size_t before = 256;  // keeps the alignment

block* block_of(void* data) { return reinterpret_cast<block*>(static_cast<char*>(data) - before); }

void give_back(void* data) {
  if (!data) return;
  block* b = block_of(data);
  if (b->origin) charge(b->origin, -b->bytes);
  give_memory_back(b, static_cast<std::size_t>(b->bytes) + before);
}

class counting_allocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &give_back, at::kCPU};
    if (running) charge(running, static_cast<int64_t>(bytes));
    void* memory = bytes > SIZE_MAX - before ? nullptr : take_memory(bytes + before);
    if (!memory) {
      if (running) charge(running, -static_cast<int64_t>(bytes));
      throw fault(SY_E_NO_MEMORY, "the system has no " + std::to_string(bytes) + " more bytes");
    }
    auto* b = new (memory) block{running, static_cast<int64_t>(bytes)};
    void* data = reinterpret_cast<char*>(b) + before;
    return {data, data, &give_back, at::kCPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }
  void copy_data(void* dest, const void* src, std::size_t count) const override { default_copy_data(dest, src, count); }
};

}  // namespace

void charge(const sy_origin* origin, int64_t bytes) {
  const sy_rc rc = host()->charge(host()->self, origin, bytes, bytes > 0 ? refusal : nullptr);
  if (bytes > 0) check(rc, std::to_string(bytes) + " more bytes are over the memory budget of the device");
}

const sy_origin* running_origin() { return running; }
const sy_origin* exchange_origin(const sy_origin* origin) { return std::exchange(running, origin); }

void install_counting_allocator() {
  static auto* allocator = new counting_allocator;  // LibTorch may free blocks after static destructors ran
  c10::SetCPUAllocator(allocator, 1);
}

error_slot::error_slot(sy_error** err) : before_(std::exchange(refusal, err)) {}
error_slot::~error_slot() { refusal = before_; }

}  // namespace sy
