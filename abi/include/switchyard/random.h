/* switchyard/random.h - random numbers as counters: the same (seed, name, step, sample, element) gives the same number
 * on every device, for every placement and micro-batch count, and again when a layer is recomputed. Header only, no
 * state.
 *
 * The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC'11): a key of two and a counter of four 32-bit words
 * give a block of four words.
 *
 *   key      sy_random_key(seed, sy_hash_name("h.3.attn")): the run's seed and the full name of what draws. A layer
 *            that draws in several places hashes LAYER.PLACE for each; the core hashes a parameter's full name for its
 *            start.
 *   counter  { step, sample, element low, element high }
 *            step     counts from 1; 0 is for initial values
 *            sample   the row in the whole batch of the optimizer step (not in the micro-batch); 0 for initial values
 *            element  of one sample (of the whole tensor for initial values) the number in row-major order, over 4
 *   word     element e takes word e & 3 of the block whose counter holds e >> 2
 *
 * C99 and C++11; in CUDA sources everything works on host and device. All functions: [any], no errors.
 */
#ifndef SWITCHYARD_RANDOM_H
#define SWITCHYARD_RANDOM_H

#include <math.h>
#include <stdint.h>

#if defined(__CUDACC__)
#define SY_RANDOM_FN static __host__ __device__ inline
#else
#define SY_RANDOM_FN static inline
#endif

/* One block: out = Philox4x32-10(counter, key). out may be counter. */
SY_RANDOM_FN void sy_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  int round;
  for (round = 0; round < 10; ++round) {
    const uint64_t p0 = (uint64_t)0xD2511F53u * c0;
    const uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/* FNV-1a, 64 bit, of the bytes before the NUL. */
SY_RANDOM_FN uint64_t sy_hash_name(const char *name) {
  uint64_t hash = ((uint64_t)0xCBF29CE4u << 32) | 0x84222325u;
  const uint64_t prime = ((uint64_t)0x00000100u << 32) | 0x000001B3u;
  for (; *name; ++name) hash = (hash ^ (uint8_t)*name) * prime;
  return hash;
}

/* The finalizer of splitmix64: a bijection of 64-bit numbers that spreads every bit. */
SY_RANDOM_FN uint64_t sy_mix64(uint64_t x) {
  x += ((uint64_t)0x9E3779B9u << 32) | 0x7F4A7C15u;
  x = (x ^ (x >> 30)) * (((uint64_t)0xBF58476Du << 32) | 0x1CE4E5B9u);
  x = (x ^ (x >> 27)) * (((uint64_t)0x94D049BBu << 32) | 0x133111EBu);
  return x ^ (x >> 31);
}

/* key = mix64(seed) ^ name_hash, low word first: equal seeds with other hashes, or equal hashes with other seeds, never
 * share a key. */
SY_RANDOM_FN void sy_random_key(uint64_t seed, uint64_t name_hash, uint32_t key[2]) {
  const uint64_t mixed = sy_mix64(seed) ^ name_hash;
  key[0] = (uint32_t)mixed;
  key[1] = (uint32_t)(mixed >> 32);
}

/* The block that holds elements 4 * (element >> 2) .. + 3 of a sample. */
SY_RANDOM_FN void sy_random_block(const uint32_t key[2], uint32_t step, uint32_t sample, uint64_t element,
                                  uint32_t out[4]) {
  const uint64_t block = element >> 2;
  uint32_t counter[4];
  counter[0] = step;
  counter[1] = sample;
  counter[2] = (uint32_t)block;
  counter[3] = (uint32_t)(block >> 32);
  sy_philox4x32(counter, key, out);
}

/* Uniform in [0, 1), from the 24 high bits: a multiple of 2^-24, exact in fp32. */
SY_RANDOM_FN float sy_uniform(uint32_t word) { return (float)(word >> 8) * (1.0f / 16777216.0f); }

/* Uniform in 0 .. n - 1 (n > 0) from two words; the bias is below n / 2^64. */
SY_RANDOM_FN uint64_t sy_random_below(uint32_t high, uint32_t low, uint64_t n) {
  const uint64_t n_low = (uint32_t)n, n_high = n >> 32; /* the high half of the 128-bit product */
  const uint64_t carry = ((uint64_t)low * n_low) >> 32;
  const uint64_t mid = (uint64_t)high * n_low + carry;
  const uint64_t mid2 = (uint64_t)low * n_high + (uint32_t)mid;
  return (uint64_t)high * n_high + (mid >> 32) + (mid2 >> 32);
}

/* Four standard normals from one block by Box-Muller in double: words 0 and 1 give elements 0 (cosine) and 1 (sine),
 * words 2 and 3 give elements 2 and 3. The largest magnitude is 6.67. */
SY_RANDOM_FN void sy_normal4(const uint32_t words[4], double out[4]) {
  const double two_pi = 6.283185307179586476925286766559;
  const double scale = 1.0 / 4294967296.0;
  int i;
  for (i = 0; i < 4; i += 2) {
    const double radius = sqrt(-2.0 * log(((double)words[i] + 1.0) * scale)); /* the logarithm of (0, 1] */
    const double angle = two_pi * ((double)words[i + 1] * scale);
    out[i] = radius * cos(angle);
    out[i + 1] = radius * sin(angle);
  }
}

/* An element is dropped when its word is below the threshold, round(p * 2^32): p <= 0 (or not a number) drops nothing,
 * p >= 1 everything. */
SY_RANDOM_FN uint64_t sy_drop_threshold(double p) {
  if (!(p > 0.0)) return 0;
  if (p >= 1.0) return (uint64_t)1 << 32;
  return (uint64_t)(p * 4294967296.0 + 0.5);
}

SY_RANDOM_FN int sy_dropped(uint32_t word, uint64_t threshold) { return (uint64_t)word < threshold; }

#endif
