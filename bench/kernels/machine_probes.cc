#include "bench/kernels/machine_probes.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "engine/ops/cpu/aligned_buffer.h"
#include "engine/ops/cpu/cpu_features.h"

namespace kantha::bench {
namespace {

double seconds_of(auto&& work) {
  const TimePoint start = system_clock().now();
  work();
  return std::chrono::duration<double>(system_clock().now() - start).count();
}

std::uint64_t sum_words(const std::byte* from, std::size_t bytes) {
  std::uint64_t sums[16] = {};
  for (std::size_t i = 0; i + 128 <= bytes; i += 128) {
    std::uint64_t words[16];
    std::memcpy(words, from + i, sizeof words);
    for (int j = 0; j < 16; ++j) sums[j] += words[j];
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t part : sums) sum += part;
  return sum;
}

double probe_read(ops::cpu::ThreadPool& pool, std::size_t read_bytes) {
  auto buffer = ops::cpu::AlignedBuffer::allocate(read_bytes, "probe");
  CHECK(buffer.ok());
  std::memset(buffer->data(), 1, read_bytes);
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(pool.threads()));
  auto read = [&](int thread) {
    const std::size_t part = read_bytes / static_cast<std::size_t>(pool.threads()) / 128 * 128;
    sums[static_cast<std::size_t>(thread)] +=
        sum_words(buffer->data() + part * static_cast<std::size_t>(thread), part);
  };
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const double seconds = seconds_of([&] { pool.run(read); });
    best = std::max(best, static_cast<double>(read_bytes) / seconds * 1e-9);
  }
  CHECK(sums[0] != 0);
  return best;
}

[[gnu::target("avx512f,avx512vnni")]] int multiply_bytes(int rounds) {
  __m512i sums[12];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  __m512i a = _mm512_set1_epi8(3);
  const __m512i b = _mm512_set1_epi8(2);
  for (int i = 0; i < rounds; ++i) {
    for (__m512i& sum : sums) sum = _mm512_dpbusd_epi32(sum, a, b);
    asm volatile("" : "+v"(a));
  }
  for (int i = 1; i < 12; ++i) sums[0] = _mm512_add_epi32(sums[0], sums[i]);
  return _mm512_reduce_add_epi32(sums[0]);
}

double probe_int8(ops::cpu::ThreadPool& pool) {
  if (!ops::cpu::detect_cpu_features().avx512_vnni) return 0;
  constexpr int kRounds = 1'000'000;
  auto multiply = [](int) { CHECK(multiply_bytes(kRounds) != 0); };
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const double seconds = seconds_of([&] { pool.run(multiply); });
    best = std::max(best, 12.0 * 64 * 2 * kRounds * pool.threads() / seconds * 1e-12);
  }
  return best;
}

double probe_barrier(ops::cpu::ThreadPool& pool) {
  constexpr int kBarriers = 20'000;
  auto meet = [&pool](int) {
    for (int i = 0; i < kBarriers; ++i) pool.barrier();
  };
  return seconds_of([&] { pool.run(meet); }) / kBarriers * 1e9;
}

}  // namespace

MachineProbes probe_machine(ops::cpu::ThreadPool& pool, std::size_t read_bytes) {
  MachineProbes probes;
  probes.read_gb_per_s = probe_read(pool, read_bytes);
  probes.int8_tops = probe_int8(pool);
  probes.barrier_ns = probe_barrier(pool);
  return probes;
}

}  // namespace kantha::bench
