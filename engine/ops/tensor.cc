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
      {"F32", 1, 4},    {"F16", 1, 2},    {"BF16", 1, 2},
      {"Q4_0", 32, 18}, {"Q4_1", 32, 20}, {"Q8_0", 32, 34},
  };
  const auto index = static_cast<std::size_t>(type);
  CHECK(index < std::size(kFacts));
  return kFacts[index];
}

}  // namespace

std::string_view dtype_name(DType type) { return facts(type).name; }
std::int64_t dtype_block_elements(DType type) { return facts(type).block_elements; }
std::int64_t dtype_block_bytes(DType type) { return facts(type).block_bytes; }

}  // namespace kantha::ops
