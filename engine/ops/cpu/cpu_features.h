#pragma once

#include <string_view>

#include "base/result.h"
#include "engine/ops/cpu/kernel_table.h"

namespace kantha::ops::cpu {

/// What the processor (and the operating system, for register state) offers us.
struct CpuFeatures {
  bool avx2 = false;
  bool fma = false;
  bool f16c = false;
  bool avx512 = false;  ///< F, BW, DQ and VL together
  bool avx512_vnni = false;
};

/// Asks the processor. Any thread.
CpuFeatures detect_cpu_features();

/// The best kernels that `features` allow. `wanted` is "avx512", "avx2" or empty for the best.
/// Errors: kUnimplemented naming the missing feature; kInvalidArgument for another name.
Result<const KernelTable*> choose_kernels(const CpuFeatures& features, std::string_view wanted);

/// choose_kernels for this machine, with KANTHA_CPU_ISA from the environment as `wanted`.
Result<const KernelTable*> choose_kernels_here();

}  // namespace kantha::ops::cpu
