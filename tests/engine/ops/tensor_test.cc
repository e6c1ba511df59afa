#include "engine/ops/tensor.h"

#include <gtest/gtest.h>

namespace kantha::ops {
namespace {

TEST(Tensor, KnowsNamesAndSizesOfEveryType) {
  const struct {
    DType type;
    std::string_view name;
    std::int64_t row_bytes;  ///< of 64 elements
  } cases[] = {{DType::kF32, "F32", 256},  {DType::kF16, "F16", 128},  {DType::kBF16, "BF16", 128},
               {DType::kQ4_0, "Q4_0", 36}, {DType::kQ4_1, "Q4_1", 40}, {DType::kQ8_0, "Q8_0", 68}};
  for (const auto& c : cases) {
    EXPECT_EQ(dtype_name(c.type), c.name);
    EXPECT_EQ((TensorView{.type = c.type, .rows = 1, .cols = 64}.row_bytes()), c.row_bytes)
        << c.name;
  }
}

}  // namespace
}  // namespace kantha::ops
