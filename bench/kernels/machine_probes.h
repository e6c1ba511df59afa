#pragma once

#include <cstddef>

#include "engine/ops/cpu/thread_pool.h"

/// What the machine can do this minute; a tokens-per-second figure means little without it.
namespace kantha::bench {

struct MachineProbes {
  double read_gb_per_s = 0;  ///< all threads reading huge pages
  double int8_tops = 0;      ///< all threads multiplying bytes in registers; 0 without AVX-512 VNNI
  double barrier_ns = 0;     ///< one barrier of the pool
};

/// Reads so many bytes for the bandwidth: as many as the work to compare reads, or part of them
/// come from caches that the work does not have. Takes about 100 ms for 128 MiB.
MachineProbes probe_machine(ops::cpu::ThreadPool& pool,
                            std::size_t read_bytes = std::size_t{128} << 20);

}  // namespace kantha::bench
