#include "engine/ops/tensor.h"

#include "base/check.h"

namespace kantha::ops {
namespace {

struct DTypeFacts {
  std::string_view name;
  std::int64_t block_elements;
  std::int64_t block_bytes;
};

const DTypeFacts& facts(DType type) {
  static constexpr DTypeFacts kFacts[] = {
      {"F32", 1, 4},      {"F16", 1, 2},      {"BF16", 1, 2},       {"Q4_0", 32, 18},
      {"Q4_1", 32, 20},   {"Q8_0", 32, 34},   {"Q5_0", 32, 22},     {"Q5_1", 32, 24},
      {"Q2_K", 256, 84},  {"Q3_K", 256, 110}, {"Q4_K", 256, 144},   {"Q5_K", 256, 176},
      {"Q6_K", 256, 210}, {"IQ4_NL", 32, 18}, {"IQ4_XS", 256, 136}, {"MXFP4", 32, 17},
  };
  static_assert(std::size(kFacts) == kDTypeCount);
  const auto index = static_cast<std::size_t>(type);
  CHECK(index < std::size(kFacts));
  return kFacts[index];
}

}  // namespace

std::string_view dtype_name(DType type) { return facts(type).name; }
std::int64_t dtype_block_elements(DType type) { return facts(type).block_elements; }
std::int64_t dtype_block_bytes(DType type) { return facts(type).block_bytes; }

}  // namespace kantha::ops
