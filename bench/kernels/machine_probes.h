#pragma once

#include "engine/ops/cpu/thread_pool.h"

/// What the machine can do this minute; a tokens-per-second figure means little without it.
namespace kantha::bench {

struct MachineProbes {
  double read_gb_per_s = 0;  ///< all threads reading 128 MiB of huge pages
  double int8_tops = 0;      ///< all threads multiplying bytes in registers; 0 without AVX-512 VNNI
  double barrier_ns = 0;     ///< one barrier of the pool
};

/// Takes about 100 ms.
MachineProbes probe_machine(ops::cpu::ThreadPool& pool);

}  // namespace kantha::bench
