// LibTorch's CUDA allocator, with a layer around it that charges blocks to the device whose call is running.
#include <c10/cuda/CUDACachingAllocator.h>

#include <memory>
#include <utility>

#include "half.hpp"

struct cublasContext;
namespace at::cuda {
// Their own header asks for those of every CUDA library.
cublasContext* getCurrentCUDABlasHandle();
void* getCUDABlasLtWorkspace();
}  // namespace at::cuda

namespace sy {
namespace {

using c10::DataPtr;
using c10::DeviceIndex;
using c10::MempoolId_t;
using c10::cuda::CUDAStream;
using c10::cuda::CUDACachingAllocator::CUDAAllocator;
namespace caching = c10::cuda::CUDACachingAllocator;

Charging accounts;

/// A block of LibTorch's, and who pays for it.
struct ChargedBlock {
  DataPtr inner;
  const sy_origin* origin;
  int64_t bytes;
};

void give_back(void* context) {
  const std::unique_ptr<ChargedBlock> block(static_cast<ChargedBlock*>(context));
  accounts.charge(block->origin, -block->bytes);
}

class ChargingAllocator final : public CUDAAllocator {
 public:
  explicit ChargingAllocator(CUDAAllocator& inner) : inner_(inner) {}

  DataPtr allocate(std::size_t bytes) override {
    const sy_origin* const origin = accounts.running();
    if (!origin || bytes == 0) return inner_.allocate(bytes);
    const auto charged = static_cast<int64_t>(bytes);
    accounts.charge(origin, charged);
    try {
      DataPtr block = inner_.allocate(bytes);
      void* const data = block.get();
      const c10::Device device = block.device();
      return {data, new ChargedBlock{std::move(block), origin, charged}, &give_back, device};
    } catch (...) {
      accounts.charge(origin, -charged);
      throw;
    }
  }
  void recordStream(const DataPtr& ptr, CUDAStream stream) override {
    const auto* block = static_cast<const ChargedBlock*>(ptr.get_deleter() == &give_back ? ptr.get_context() : nullptr);
    inner_.recordStream(block ? block->inner : ptr, stream);
  }

  // What follows is the inner allocator's.
  c10::DeleterFnPtr raw_deleter() const override { return inner_.raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { inner_.copy_data(to, from, bytes); }
  void* raw_alloc(std::size_t bytes) override { return inner_.raw_alloc(bytes); }
  void* raw_alloc_with_stream(std::size_t bytes, cudaStream_t stream) override {
    return inner_.raw_alloc_with_stream(bytes, stream);
  }
  void raw_delete(void* ptr) override { inner_.raw_delete(ptr); }
  void init(int devices) override { inner_.init(devices); }
  bool initialized() override { return inner_.initialized(); }
  double getMemoryFraction(DeviceIndex device) override { return inner_.getMemoryFraction(device); }
  void setMemoryFraction(double share, DeviceIndex device) override { inner_.setMemoryFraction(share, device); }
  std::vector<caching::StreamSegmentSize> getExpandableSegmentSizes(DeviceIndex device) override {
    return inner_.getExpandableSegmentSizes(device);
  }
  void enable(bool on) override { inner_.enable(on); }
  bool isEnabled() const override { return inner_.isEnabled(); }
  void emptyCache(MempoolId_t pool) override { inner_.emptyCache(pool); }
  void cacheInfo(DeviceIndex device, std::size_t* largest) override { inner_.cacheInfo(device, largest); }
  void* getBaseAllocation(void* ptr, std::size_t* size) override { return inner_.getBaseAllocation(ptr, size); }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(DeviceIndex device) override {
    return inner_.getDeviceStats(device);
  }
  void resetAccumulatedStats(DeviceIndex device) override { inner_.resetAccumulatedStats(device); }
  void resetPeakStats(DeviceIndex device) override { inner_.resetPeakStats(device); }
  caching::SnapshotInfo snapshot(MempoolId_t pool, bool traces) override { return inner_.snapshot(pool, traces); }
  void beginAllocateToPool(DeviceIndex device, MempoolId_t pool, std::function<bool(cudaStream_t)> filter) override {
    inner_.beginAllocateToPool(device, pool, std::move(filter));
  }
  void endAllocateToPool(DeviceIndex device, MempoolId_t pool) override { inner_.endAllocateToPool(device, pool); }
  void releasePool(DeviceIndex device, MempoolId_t pool) override { inner_.releasePool(device, pool); }
  int getPoolUseCount(DeviceIndex device, MempoolId_t pool) override { return inner_.getPoolUseCount(device, pool); }
  void createOrIncrefPool(DeviceIndex device, MempoolId_t pool, std::shared_ptr<CUDAAllocator> allocator) override {
    inner_.createOrIncrefPool(device, pool, std::move(allocator));
  }
  void setUseOnOOM(DeviceIndex device, MempoolId_t pool, bool use) override { inner_.setUseOnOOM(device, pool, use); }
  void setNoSplit(DeviceIndex device, MempoolId_t pool) override { inner_.setNoSplit(device, pool); }
  bool checkPoolLiveAllocations(DeviceIndex device, MempoolId_t pool,
                                const std::unordered_set<void*>& expected) override {
    return inner_.checkPoolLiveAllocations(device, pool, expected);
  }
  caching::ShareableHandle shareIpcHandle(void* ptr) override { return inner_.shareIpcHandle(ptr); }
  std::shared_ptr<void> getIpcDevPtr(std::string handle) override { return inner_.getIpcDevPtr(std::move(handle)); }
  bool isHistoryEnabled() override { return inner_.isHistoryEnabled(); }
  void recordHistory(bool on, caching::CreateContextFn recorder, std::size_t most, caching::RecordContext when,
                     bool clear, const std::vector<std::string>& skipped) override {
    inner_.recordHistory(on, recorder, most, when, clear, skipped);
  }
  void recordAnnotation(const std::vector<std::pair<std::string, std::string>>& all) override {
    inner_.recordAnnotation(all);
  }
  void pushCompileContext(std::string& text) override { inner_.pushCompileContext(text); }
  void popCompileContext() override { inner_.popCompileContext(); }
  void setUserMetadata(const std::string& text) override { inner_.setUserMetadata(text); }
  std::string getUserMetadata() override { return inner_.getUserMetadata(); }
  void attachOutOfMemoryObserver(caching::OutOfMemoryObserver observer) override {
    inner_.attachOutOfMemoryObserver(std::move(observer));
  }
  void attachAllocatorTraceTracker(caching::AllocatorTraceTracker tracker) override {
    inner_.attachAllocatorTraceTracker(std::move(tracker));
  }
  void enablePeerAccess(DeviceIndex from, DeviceIndex to) override { inner_.enablePeerAccess(from, to); }
  cudaError_t memcpyAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                          cudaStream_t stream, bool peer) override {
    return inner_.memcpyAsync(to, to_device, from, from_device, bytes, stream, peer);
  }
  std::shared_ptr<caching::AllocatorState> getCheckpointState(DeviceIndex device, MempoolId_t pool) override {
    return inner_.getCheckpointState(device, pool);
  }
  caching::CheckpointDelta setCheckpointPoolState(DeviceIndex device,
                                                  std::shared_ptr<caching::AllocatorState> state) override {
    return inner_.setCheckpointPoolState(device, std::move(state));
  }
  std::string name() override { return inner_.name(); }

 private:
  CUDAAllocator& inner_;
};

void charge_blocks(const Charging& given) {
  accounts = given;
  static auto* allocator = new ChargingAllocator(*caching::get());  // LibTorch may free blocks after static destructors
  caching::allocator.store(allocator);
}

void open_libraries() {
  at::cuda::getCurrentCUDABlasHandle();
  at::cuda::getCUDABlasLtWorkspace();
}

}  // namespace
}  // namespace sy

extern "C" __attribute__((visibility("default")))
const sy::CudaHalf switchyard_torch_cuda{&sy::charge_blocks, &sy::open_libraries, &sy::multiply};
