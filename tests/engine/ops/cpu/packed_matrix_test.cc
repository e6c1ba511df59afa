#include "engine/ops/cpu/packed_matrix.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/ops/cpu/kernel_tables.h"
#include "tests/engine/ops/cpu/random_tensor.h"

namespace kantha::ops::cpu {
namespace {

struct Shape {
  DType type;
  std::int64_t rows;
  std::int64_t cols;
  bool fine = false;  ///< activations in two parts
};

const Shape kShapes[] = {
    {DType::kQ4_1, 16, 32},  {DType::kQ4_1, 17, 96},  {DType::kQ4_1, 40, 576},
    {DType::kQ4_0, 16, 32},  {DType::kQ4_0, 33, 160}, {DType::kQ4_0, 5, 64},
    {DType::kQ8_0, 16, 32},  {DType::kQ8_0, 31, 96},  {DType::kQ8_0, 1, 576},
    {DType::kF32, 16, 7},    {DType::kF32, 3, 64},    {DType::kF16, 18, 33},
    {DType::kBF16, 50, 100},
};

/// The shapes with coarse and with fine activations.
std::vector<Shape> shapes() {
  std::vector<Shape> all(std::begin(kShapes), std::end(kShapes));
  for (Shape shape : kShapes) {
    shape.fine = true;
    all.push_back(shape);
  }
  return all;
}

GemmTile gemm_of(const KernelTable& table, const Shape& shape) {
  return (shape.fine ? table.gemm_fine : table.gemm)[static_cast<std::size_t>(shape.type)];
}

/// Activations of 8 tokens in both forms, and the values that the kernels really see.
struct Input {
  Input(const KernelTable& kernels, const Shape& shape, std::uint64_t seed)
      : rows(random_floats(static_cast<std::size_t>(8 * shape.cols), seed, 3)),
        cols_(shape.cols),
        block_bytes_(shape.fine ? kFinePanelBlockBytes : kPanelBlockBytes) {
    if (cols_ % kBlock != 0) return;
    panel.resize(static_cast<std::size_t>(cols_ / kBlock * block_bytes_));
    const auto quantise = shape.fine ? kernels.quantise_row_fine : kernels.quantise_row;
    for (std::int64_t t = 0; t < 8; ++t) {
      quantise(rows.data() + t * cols_, cols_, panel.data(), t);
    }
  }

  PanelView view() const { return {panel.data(), rows.data(), cols_}; }

  double seen(bool quantised, std::int64_t t, std::int64_t k) const {
    if (!quantised) return rows[static_cast<std::size_t>(t * cols_ + k)];
    const std::byte* block = panel.data() + k / kBlock * block_bytes_;
    float scale;
    std::memcpy(&scale, block + kPanelScales + t * 4, 4);
    int q = std::to_integer<std::int8_t>(block[t * kBlock + k % kBlock]);
    if (block_bytes_ == kFinePanelBlockBytes) {
      q = q * 128 + std::to_integer<std::int8_t>(block[kPanelLow + t * kBlock + k % kBlock]);
    }
    return double{scale} * q;
  }

  std::vector<float> rows;
  std::vector<std::byte> panel;

 private:
  std::int64_t cols_;
  std::int64_t block_bytes_;
};

std::vector<std::byte> pack(const TensorView& view) {
  const std::int64_t bytes = packed_group_bytes(view.type, view.cols);
  std::vector<std::byte> packed(static_cast<std::size_t>(bytes * packed_groups(view.rows)));
  for (std::int64_t g = 0; g < packed_groups(view.rows); ++g) {
    pack_group(view, g, packed.data() + g * bytes);
  }
  return packed;
}

class PackedGemm : public EachTable {};

TEST_P(PackedGemm, equals_a_plain_double_loop_for_every_type_and_token_count) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(std::string(dtype_name(shape.type)) + " " + std::to_string(shape.rows) + "x" +
                 std::to_string(shape.cols));
    const RandomTensor weights(shape.type, shape.rows, shape.cols, 7, 0.1);
    const std::vector<std::byte> packed = pack(weights.view());
    const Input in(kernels(), shape, 11);
    const bool quantised = is_quantised(shape.type);
    const GemmTile gemm = gemm_of(kernels(), shape);
    for (std::int64_t row = 0; row < packed_groups(shape.rows) * 16; ++row) {
      for (std::int64_t tokens = 1; tokens <= 8; ++tokens) {
        float tile[8 * 16];
        gemm(packed.data() + row / 16 * packed_group_bytes(shape.type, shape.cols), shape.cols,
             in.view(), tokens, tile);
        const std::int64_t t = tokens - 1;
        double expected = 0;
        double magnitude = 1e-6;
        for (std::int64_t k = 0; row < shape.rows && k < shape.cols; ++k) {
          const double term = weights.at(row, k) * in.seen(quantised, t, k);
          expected += term;
          magnitude += std::abs(term);
        }
        ASSERT_NEAR(tile[t * 16 + row % 16], expected, magnitude * 2e-6)
            << "row " << row << " token " << t;
      }
    }
  }
}

TEST_P(PackedGemm, gives_a_token_the_same_bits_alone_and_in_company) {
  for (const Shape& shape : shapes()) {
    const RandomTensor weights(shape.type, shape.rows, shape.cols, 3, 0.1);
    const std::vector<std::byte> packed = pack(weights.view());
    const Input in(kernels(), shape, 5);
    const GemmTile gemm = gemm_of(kernels(), shape);
    float all[8 * 16];
    gemm(packed.data(), shape.cols, in.view(), 8, all);
    for (std::int64_t tokens = 1; tokens < 8; ++tokens) {
      float tile[8 * 16];
      gemm(packed.data(), shape.cols, in.view(), tokens, tile);
      EXPECT_EQ(std::memcmp(tile, all, static_cast<std::size_t>(tokens) * 16 * 4), 0)
          << dtype_name(shape.type) << " with " << tokens << " tokens";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, PackedGemm, testing::ValuesIn(runnable_tables()), table_name);

TEST(PackedGemmTables, give_the_same_bits) {
  const auto tables = runnable_tables();
  for (const Shape& shape : shapes()) {
    const RandomTensor weights(shape.type, shape.rows, shape.cols, 21, 0.1);
    const std::vector<std::byte> packed = pack(weights.view());
    std::vector<float> first;
    for (const KernelTable* table : tables) {
      const Input in(*table, shape, 22);
      std::vector<float> tile(8 * 16);
      gemm_of(*table, shape)(packed.data(), shape.cols, in.view(), 8, tile.data());
      if (first.empty()) first = tile;
      EXPECT_EQ(std::memcmp(first.data(), tile.data(), tile.size() * 4), 0)
          << dtype_name(shape.type) << " on " << table->name;
    }
  }
}

// The extremes where an 8-bit product could saturate or a 16-bit sum overflow.
TEST_P(PackedGemm, keeps_the_largest_integers_exact) {
  struct Extreme {
    DType type;
    std::uint8_t byte;
    int weight;
  };
  const Extreme extremes[] = {{DType::kQ8_0, 0x80, -128},
                              {DType::kQ8_0, 0x7f, 127},
                              {DType::kQ4_1, 0xff, 15},
                              {DType::kQ4_0, 0xff, 7},
                              {DType::kQ4_0, 0x00, -8}};
  for (const Extreme& extreme : extremes) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(dtype_block_bytes(extreme.type)),
                                 std::byte{extreme.byte});
    const _Float16 one = 1;
    const _Float16 zero = 0;
    std::memcpy(bytes.data(), &one, 2);
    if (extreme.type == DType::kQ4_1) std::memcpy(bytes.data() + 2, &zero, 2);
    const std::vector<std::byte> packed = pack({extreme.type, 1, 32, bytes});
    for (const float sign : {1.0F, -1.0F}) {
      const std::vector<float> x(32, 127 * sign);
      std::vector<std::byte> panel(kPanelBlockBytes);
      kernels().quantise_row(x.data(), 32, panel.data(), 0);
      float tile[16];
      kernels().gemm[static_cast<std::size_t>(extreme.type)](packed.data(), 32,
                                                             {panel.data(), nullptr, 0}, 1, tile);
      EXPECT_EQ(tile[0], static_cast<float>(32 * 127 * extreme.weight) * sign)
          << dtype_name(extreme.type);
    }
  }
}

}  // namespace
}  // namespace kantha::ops::cpu
