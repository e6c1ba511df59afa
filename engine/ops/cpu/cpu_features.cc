#include "engine/ops/cpu/cpu_features.h"

#include <cstdlib>
#include <string>

namespace kantha::ops::cpu {
namespace {

Status check_avx2(const CpuFeatures& has) {
  if (!has.avx2) return unimplemented("this processor lacks AVX2, which the CPU path needs");
  if (!has.fma) return unimplemented("this processor lacks FMA, which the CPU path needs");
  if (!has.f16c) return unimplemented("this processor lacks F16C, which the CPU path needs");
  return ok_status();
}

Status check_avx512(const CpuFeatures& has) {
  if (!has.avx512) return unimplemented("this processor lacks AVX-512 (F, BW, DQ, VL)");
  if (!has.avx512_vnni) return unimplemented("this processor lacks AVX-512 VNNI");
  return ok_status();
}

}  // namespace

CpuFeatures detect_cpu_features() {
  __builtin_cpu_init();
  CpuFeatures features;
  features.avx2 = __builtin_cpu_supports("avx2") != 0;
  features.fma = __builtin_cpu_supports("fma") != 0;
  features.f16c = __builtin_cpu_supports("f16c") != 0;
  features.avx512 =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  features.avx512_vnni = __builtin_cpu_supports("avx512vnni") != 0;
  return features;
}

Result<const KernelTable*> choose_kernels(const CpuFeatures& features, std::string_view wanted) {
  if (!wanted.empty() && wanted != "avx512" && wanted != "avx2") {
    return invalid_argument("KANTHA_CPU_ISA: expected avx512 or avx2, got \"" +
                            std::string(wanted) + "\"");
  }
  TRY_OK(check_avx2(features));
  if (wanted == "avx2") return &avx2_kernels();
  const Status avx512 = check_avx512(features);
  if (avx512.ok()) return &avx512_kernels();
  if (wanted == "avx512") return Error(avx512.error());
  return &avx2_kernels();
}

Result<const KernelTable*> choose_kernels_here() {
  const char* wanted = std::getenv("KANTHA_CPU_ISA");
  return choose_kernels(detect_cpu_features(), wanted == nullptr ? "" : wanted);
}

}  // namespace kantha::ops::cpu
