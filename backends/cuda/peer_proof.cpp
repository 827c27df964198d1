#include "peer_proof.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "current.hpp"
#include "failure.hpp"
#include "switchyard/cpp/plugin.hpp"

namespace sy::cuda {
namespace {

constexpr std::size_t words = 256 * 1024;  // 1 MiB

/// A stream of a device with a block: of a pool, or (NULL) a plain one, as LibTorch takes them.
class Side {
 public:
  Side(int device, cudaMemPool_t pool) : device_(device) {
    const Current current(device);
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    const cudaError_t code =
        pool ? cudaMallocFromPoolAsync(&memory, words * 4, pool, stream) : cudaMalloc(&memory, words * 4);
    if (code != cudaSuccess) cudaStreamDestroy(stream);
    must(code, "allocating 1 MiB");
    must(cudaMemsetAsync(memory, 0, words * 4, stream), "clearing");
    wait();
  }
  ~Side() {
    const Current current(device_);
    cudaStreamSynchronize(stream);
    cudaFree(memory);  // right for both kinds
    cudaStreamDestroy(stream);
  }
  Side(const Side&) = delete;
  void wait() const { must(cudaStreamSynchronize(stream), "waiting"); }

  void* memory = nullptr;
  cudaStream_t stream = nullptr;

 private:
  int device_;
};

/// Lets `reader` see the memory of `owner`'s pool. False: the machine does not allow it.
bool give_access(cudaMemPool_t owner_pool, int owner, int reader) {
  int can = 0;
  must(cudaDeviceCanAccessPeer(&can, reader, owner), "asking for peer access");
  if (!can) return false;
  cudaMemAccessDesc access{};
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = reader;
  access.flags = cudaMemAccessFlagsProtReadWrite;
  must(cudaMemPoolSetAccess(owner_pool, &access, 1), "giving access to a pool");
  const Current current(reader);
  const cudaError_t code = cudaDeviceEnablePeerAccess(owner, 0);
  if (code == cudaErrorPeerAccessAlreadyEnabled)
    cudaGetLastError();
  else
    must(code, "enabling peer access");
  return true;
}

std::string compare(const std::vector<uint32_t>& sent, const std::vector<uint32_t>& got) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < words; ++i) wrong += sent[i] != got[i];
  return wrong == 0 ? "" : std::to_string(wrong) + " of " + std::to_string(words) + " words of a test arrived changed";
}

std::string there_and_back(int from, cudaMemPool_t from_pool, int to, cudaMemPool_t to_pool) {
  std::mt19937 random(0x5EED);
  std::vector<uint32_t> sent(words), got(words);
  for (uint32_t& w : sent) w = random();
  const Side a(from, from_pool), b(to, to_pool);
  {
    const Current current(from);
    must(cudaMemcpyAsync(a.memory, sent.data(), words * 4, cudaMemcpyHostToDevice, a.stream), "copying to the device");
    a.wait();
  }
  const Current current(to);
  must(cudaMemcpyPeerAsync(b.memory, to, a.memory, from, words * 4, b.stream), "copying between devices");
  must(cudaMemcpyAsync(got.data(), b.memory, words * 4, cudaMemcpyDeviceToHost, b.stream), "copying from the device");
  b.wait();
  const std::string wrong = compare(sent, got);
  if (!wrong.empty()) return wrong;
  const Current back(from);
  must(cudaMemsetAsync(a.memory, 0, words * 4, a.stream), "clearing");
  must(cudaMemcpyPeerAsync(a.memory, from, b.memory, to, words * 4, a.stream), "copying back");
  must(cudaMemcpyAsync(got.data(), a.memory, words * 4, cudaMemcpyDeviceToHost, a.stream), "copying from the device");
  a.wait();
  return compare(sent, got);
}

}  // namespace

std::string peer_copies_fail(int from, cudaMemPool_t from_pool, int to, cudaMemPool_t to_pool) {
  try {
    if (!give_access(from_pool, from, to) || !give_access(to_pool, to, from))
      return "the machine offers no peer access between them";
    const std::string wrong = there_and_back(from, from_pool, to, to_pool);
    return wrong.empty() ? there_and_back(from, nullptr, to, nullptr) : wrong;
  } catch (const fault& f) {
    return f.what();
  }
}

}  // namespace sy::cuda
