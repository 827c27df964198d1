/* Stands for a LibTorch that somebody else brought into the process: named and versioned like 2.11. */
#include <stdint.h>

__attribute__((visibility("default"))) uint64_t aoti_torch_abi_version(void);
uint64_t aoti_torch_abi_version(void) { return (uint64_t)2 << 56 | (uint64_t)11 << 48 | (uint64_t)3 << 40; }
