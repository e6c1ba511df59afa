#include "engine/ops/cpu/embedding_row.h"

#include <gtest/gtest.h>

#include "tests/engine/ops/cpu/random_tensor.h"

namespace kantha::ops::cpu {
namespace {

TEST(EmbeddingRow, dequantises_every_type_from_unaligned_bytes) {
  for (std::size_t index = 0; index < kDTypeCount; ++index) {
    const auto type = static_cast<DType>(index);
    const RandomTensor table(type, 5, 512, 9, 1.5);
    for (std::int64_t row = 0; row < 5; ++row) {
      float out[512];
      embedding_row(table.view(), row, out);
      for (std::int64_t i = 0; i < 512; ++i) {
        EXPECT_NEAR(out[i], table.at(row, i), 1e-6) << dtype_name(type) << " " << row << "," << i;
      }
    }
  }
}

}  // namespace
}  // namespace kantha::ops::cpu
