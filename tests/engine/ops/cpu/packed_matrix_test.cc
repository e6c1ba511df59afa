#include "engine/ops/cpu/packed_matrix.h"

#include <gtest/gtest.h>

#include <array>
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
    {DType::kQ4_1, 16, 32},   {DType::kQ4_1, 17, 96},   {DType::kQ4_1, 40, 576},
    {DType::kQ4_0, 16, 32},   {DType::kQ4_0, 33, 160},  {DType::kQ4_0, 5, 64},
    {DType::kQ8_0, 16, 32},   {DType::kQ8_0, 31, 96},   {DType::kQ8_0, 1, 576},
    {DType::kF32, 16, 7},     {DType::kF32, 3, 64},     {DType::kF16, 18, 33},
    {DType::kBF16, 50, 100},  {DType::kQ5_0, 16, 32},   {DType::kQ5_0, 37, 160},
    {DType::kQ5_1, 16, 32},   {DType::kQ5_1, 18, 96},   {DType::kQ2_K, 16, 256},
    {DType::kQ2_K, 21, 768},  {DType::kQ3_K, 16, 256},  {DType::kQ3_K, 33, 512},
    {DType::kQ4_K, 16, 256},  {DType::kQ4_K, 1, 1024},  {DType::kQ5_K, 16, 256},
    {DType::kQ5_K, 31, 512},  {DType::kQ6_K, 16, 256},  {DType::kQ6_K, 40, 768},
    {DType::kIQ4_NL, 16, 32}, {DType::kIQ4_NL, 17, 96}, {DType::kIQ4_XS, 16, 256},
    {DType::kIQ4_XS, 5, 512}, {DType::kMXFP4, 16, 32},  {DType::kMXFP4, 35, 224},
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

constexpr float kFineFrom = 2.5F;

void quantise(const KernelTable& kernels, bool fine, const float* x, std::int64_t cols,
              std::byte* panel, std::int64_t lane) {
  if (fine) {
    kernels.quantise_row_fine(x, cols, kFineFrom, panel, lane);
  } else {
    kernels.quantise_row(x, cols, panel, lane);
  }
}

/// Activations of 8 tokens in both forms, and the values that the kernels really see.
struct Input {
  Input(const KernelTable& kernels, const Shape& shape, std::uint64_t seed)
      : rows(random_floats(static_cast<std::size_t>(8 * shape.cols), seed, 3)),
        cols_(shape.cols),
        block_bytes_(shape.fine ? kFinePanelBlockBytes : kPanelBlockBytes) {
    if (cols_ % kBlock != 0) return;
    // Blocks with and without low parts, together and alone in a panel.
    for (std::int64_t t = 0; t < 8; ++t) {
      for (std::int64_t k = t; k < cols_; k += 5 * kBlock + t) {
        rows[static_cast<std::size_t>(t * cols_ + k)] *= 20;
      }
    }
    panel.resize(static_cast<std::size_t>(panel_bytes(cols_, shape.fine)));
    for (std::int64_t t = 0; t < 8; ++t) {
      quantise(kernels, shape.fine, rows.data() + t * cols_, cols_, panel.data(), t);
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

/// A block of one byte throughout with scales of 1.
std::vector<std::byte> even_block(DType type, std::uint8_t byte) {
  std::vector<std::byte> block(static_cast<std::size_t>(dtype_block_bytes(type)), std::byte{byte});
  const _Float16 one = 1;
  for (const ScalePlace& place : scale_places(type)) std::memcpy(&block[place.at], &one, 2);
  if (type == DType::kMXFP4) block[0] = std::byte{128};
  return block;
}

TEST_P(PackedGemm, keeps_the_largest_codes_of_every_type) {
  for (std::size_t index = 0; index < kDTypeCount; ++index) {
    const auto type = static_cast<DType>(index);
    if (!is_quantised(type)) continue;
    for (const int byte : {0x00, 0x7f, 0x80, 0xff}) {
      const std::vector<std::byte> block = even_block(type, static_cast<std::uint8_t>(byte));
      const std::int64_t cols = dtype_block_elements(type);
      std::vector<float> weights(static_cast<std::size_t>(cols));
      ref::dequantize_row({type, 1, cols, block}, 0, weights);
      const std::vector<std::byte> packed = pack({type, 1, cols, block});
      for (const bool fine : {false, true}) {
        const Shape shape{type, 1, cols, fine};
        std::vector<float> x(weights.size());
        double expected = 0;
        double magnitude = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
          x[i] = weights[i] < 0 ? -127.0F : 127.0F;
          expected += double{weights[i]} * x[i];
          magnitude += std::abs(double{weights[i]} * x[i]);
        }
        std::vector<std::byte> panel(static_cast<std::size_t>(panel_bytes(cols, fine)));
        quantise(kernels(), fine, x.data(), cols, panel.data(), 0);
        float tile[16];
        gemm_of(kernels(), shape)(packed.data(), cols, {panel.data(), nullptr, 0}, 1, tile);
        EXPECT_NEAR(tile[0], expected, magnitude * 2e-6) << dtype_name(type) << " of " << byte;
        EXPECT_EQ(tile[1], 0.0F) << dtype_name(type) << ": rows of padding give nothing";
      }
    }
  }
}

TEST_P(PackedGemm, a_token_does_not_depend_on_the_low_parts_of_others) {
  constexpr std::int64_t kCols = 256;
  const RandomTensor weights(DType::kQ4_1, 16, kCols, 7, 0.1);
  const std::vector<std::byte> packed = pack(weights.view());
  const Shape shape{DType::kQ4_1, 16, kCols, true};
  const std::vector<float> even = random_floats(kCols, 3);
  std::vector<float> outlier = even;
  outlier[40] = 100;
  std::vector<std::byte> panel(static_cast<std::size_t>(panel_bytes(kCols, true)));
  const auto tile_of_even = [&](const std::vector<float>& beside) {
    quantise(kernels(), true, even.data(), kCols, panel.data(), 0);
    quantise(kernels(), true, beside.data(), kCols, panel.data(), 1);
    std::array<float, 32> tile;
    gemm_of(kernels(), shape)(packed.data(), kCols, {panel.data(), nullptr, 0}, 2, tile.data());
    return std::vector<float>(tile.begin(), tile.begin() + 16);
  };
  const std::vector<float> alone = tile_of_even(even);
  EXPECT_EQ(tile_of_even(outlier), alone);
  const std::byte* flags = panel.data() + kCols / kBlock * kFinePanelBlockBytes;
  EXPECT_EQ(flags[1 * 8 + 0], std::byte{0});
  EXPECT_NE(flags[1 * 8 + 1], std::byte{0}) << "the comparison needs a low part";
}

TEST(PackedMatrix, takes_hardly_more_room_than_the_file) {
  for (std::size_t index = 0; index < kDTypeCount; ++index) {
    const auto type = static_cast<DType>(index);
    const TensorView view{type, 16, 1024, {}};
    EXPECT_GE(packed_group_bytes(type, 1024), 16 * view.row_bytes()) << dtype_name(type);
    EXPECT_LE(static_cast<double>(packed_group_bytes(type, 1024)),
              1.06 * static_cast<double>(16 * view.row_bytes()))
        << dtype_name(type);
    EXPECT_EQ(packed_group_bytes(type, 1024) % 64, 0) << dtype_name(type);
  }
}

}  // namespace
}  // namespace kantha::ops::cpu
