// Memory of freed tensors waits for the next of the same size, as long as a layer lives and within what was in use.
#include "block_store.hpp"

#include <malloc.h>

#include "switchyard/cpp/torch.hpp"
#include "torch_and_doctest.hpp"

namespace {

constexpr std::size_t MiB = 1 << 20;  // so large that glibc asks the system for each block, and tells it

/// What the system has given, in MiB.
int64_t taken() { return static_cast<int64_t>(mallinfo2().hblkhd / MiB); }

struct Block {
  explicit Block(std::size_t size) : bytes(size), memory(sy::take_memory(size)) { REQUIRE(memory != nullptr); }
  ~Block() { sy::give_memory_back(memory, bytes); }
  Block(const Block&) = delete;
  std::size_t bytes;
  void* memory;
};
struct Layer {
  Layer() { sy::layer_made(); }
  ~Layer() { sy::layer_gone(); }
  Layer(const Layer&) = delete;
};

}  // namespace

#ifndef __SANITIZE_ADDRESS__
TEST_CASE("a block waits for the next of its size while a layer lives, and goes back with the last layer") {
  const int64_t before = taken();
  const void* first = nullptr;
  {
    const Layer one;
    {
      const Layer other;
      { first = Block(64 * MiB).memory; }
      CHECK(taken() == before + 64);
    }
    CHECK(taken() == before + 64);
    {
      const Block again(64 * MiB), another(64 * MiB);
      CHECK(again.memory == first);
      CHECK(another.memory != first);
      CHECK(reinterpret_cast<uintptr_t>(another.memory) % 256 == 0);
      CHECK(taken() == before + 128);
    }
    CHECK(taken() == before + 128);
  }
  CHECK(taken() == before);
  { const Block alone(64 * MiB); }
  CHECK(taken() == before);
}

TEST_CASE("no more waits than was in use at one time; what waited longest goes first") {
  const int64_t before = taken();
  const Layer layer;
  { const Block small(64 * MiB); }
  CHECK(taken() == before + 64);
  const void* large = nullptr;
  { large = Block(128 * MiB).memory; }
  CHECK(taken() == before + 128);  // the small one is gone
  {
    const Block again(128 * MiB);
    CHECK(again.memory == large);
  }
}
#endif
