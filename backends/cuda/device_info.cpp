#include "device_info.hpp"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "current.hpp"
#include "failure.hpp"

namespace sy::cuda {
namespace {

/// fp32 lanes of a multiprocessor (CUDA C++ Programming Guide, arithmetic instructions by compute capability).
int lanes_of(int major, int minor) {
  if (major < 8 || (major == 8 && minor == 0)) return 64;
  return 128;
}

double flops_of(int device, const cudaDeviceProp& p) {
  int kilohertz = 0;
  if (cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device) != cudaSuccess) cudaGetLastError();
  return 2.0 * lanes_of(p.major, p.minor) * p.multiProcessorCount * 1e3 * kilohertz;  // 2: multiply and add
}

/// As the driver's tools print it.
void write_uuid(const cudaUUID_t& id, char* out, std::size_t room) {
  unsigned char b[16];
  std::memcpy(b, id.bytes, sizeof b);
  std::snprintf(out, room, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2],
                b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

}  // namespace

sy_device_info device_info(int device) {
  const std::string name = "cuda:" + std::to_string(device);
  cudaDeviceProp p{};
  must(cudaGetDeviceProperties(&p, device), "asking about " + name);
  sy_device_info info{};
  info.caps = SY_B_PEER | SY_B_TIMED_EVENTS | SY_B_CAPTURE;
  info.device = {SY_DEVICE_CUDA, device};
  info.flops = flops_of(device, p);
  std::string_view(p.name).copy(info.name, sizeof info.name - 1);
  must(cudaDeviceGetPCIBusId(info.bus_id, sizeof info.bus_id, device), "asking for the bus id of " + name);
  write_uuid(p.uuid, info.uuid, sizeof info.uuid);
  const Current current(device);
  std::size_t free = 0, total = 0;
  must(cudaMemGetInfo(&free, &total), "asking for the free memory of " + name);
  info.bytes_free = free;
  info.bytes_total = total;
  return info;
}

}  // namespace sy::cuda
