#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/ops/cpu/packed_matrix.h"
#include "tests/engine/ops/cpu/kernel_tables.h"
#include "tests/engine/ops/cpu/random_tensor.h"

namespace kantha::ops::cpu {
namespace {

class RowKernels : public EachTable {};

TEST_P(RowKernels, rmsnorm_equals_its_definition_at_any_width) {
  for (const std::int64_t n : {1, 15, 16, 17, 64, 576}) {
    const auto x = random_floats(static_cast<std::size_t>(n), 1, 4);
    const auto weight = random_floats(static_cast<std::size_t>(n), 2);
    std::vector<float> out(x.size());
    kernels().rmsnorm_row(x.data(), weight.data(), n, 1e-5F, out.data());
    double squares = 0;
    for (const float v : x) squares += double{v} * v;
    const double scale = 1 / std::sqrt(squares / static_cast<double>(n) + 1e-5);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(out[i], x[i] * scale * weight[i], 1e-5) << "n " << n << " element " << i;
    }
  }
}

TEST_P(RowKernels, quantise_rounds_to_nearest_within_127_and_keeps_its_sums) {
  auto x = random_floats(96, 3, 10);
  std::fill(x.begin() + 32, x.begin() + 64, 0.0F);  // a block of zeros
  std::vector<std::byte> panel(3 * kPanelBlockBytes);
  kernels().quantise_row(x.data(), 96, panel.data(), 5);
  for (std::size_t b = 0; b < 3; ++b) {
    const std::byte* block = panel.data() + b * kPanelBlockBytes;
    float scale;
    float scaled_sum;
    std::int32_t offset;
    std::memcpy(&scale, block + kPanelScales + 5 * 4, 4);
    std::memcpy(&scaled_sum, block + kPanelSums + 5 * 4, 4);
    std::memcpy(&offset, block + kPanelOffsets + 5 * 4, 4);
    std::int32_t half_offset;
    std::memcpy(&half_offset, block + kPanelHalfOffsets + 5 * 4, 4);
    int sum = 0;
    int half_sum = 0;
    int largest = 0;
    for (std::size_t i = 0; i < 32; ++i) {
      const int q = std::to_integer<std::int8_t>(block[5 * 32 + i]);
      sum += q;
      if (i < 16) half_sum += q;
      largest = std::max(largest, std::abs(q));
      EXPECT_NEAR(scale * static_cast<float>(q), x[b * 32 + i], scale * 0.501);
    }
    EXPECT_EQ(largest, b == 1 ? 0 : 127);
    EXPECT_EQ(offset, sum * -128);
    EXPECT_EQ(half_offset, half_sum * -128);
    EXPECT_EQ(scaled_sum, scale * static_cast<float>(sum));
  }
}

TEST_P(RowKernels, quantise_fine_splits_fifteen_bits_of_large_blocks_into_two_bytes) {
  auto x = random_floats(96, 8, 1);
  for (std::size_t i = 32; i < 64; ++i) x[i] *= 10;
  std::vector<std::byte> panel(static_cast<std::size_t>(panel_bytes(96, true)));
  kernels().quantise_row_fine(x.data(), 96, 1.5F, panel.data(), 3);
  for (std::size_t b = 0; b < 3; ++b) {
    const std::byte* block = panel.data() + b * kFinePanelBlockBytes;
    float scale;
    std::int32_t offset;
    std::memcpy(&scale, block + kPanelScales + 3 * 4, 4);
    std::memcpy(&offset, block + kPanelOffsets + 3 * 4, 4);
    std::int32_t half_offset;
    std::memcpy(&half_offset, block + kPanelHalfOffsets + 3 * 4, 4);
    const float step = b == 1 ? scale : scale * 128;
    int sum = 0;
    int half_sum = 0;
    for (std::size_t i = 0; i < 32; ++i) {
      const int low = std::to_integer<std::int8_t>(block[kPanelLow + 3 * 32 + i]);
      const int q = std::to_integer<std::int8_t>(block[3 * 32 + i]) * 128 + low;
      if (b != 1) EXPECT_EQ(low, 0);
      sum += q;
      if (i < 16) half_sum += q;
      EXPECT_NEAR(scale * static_cast<float>(q), x[b * 32 + i], step * 0.51);
    }
    EXPECT_EQ(half_offset, half_sum * -128);
    EXPECT_EQ(offset, sum * -128);
    EXPECT_LT(scale, (b == 1 ? 10.0F : 1.0F) / 16000);
    const std::byte flag = panel[3 * kFinePanelBlockBytes + b * 8 + 3];
    EXPECT_EQ(flag != std::byte{0}, b == 1);
  }
}

TEST_P(RowKernels, silu_mul_equals_its_definition_from_tiny_to_huge) {
  std::vector<float> gate = {-1000, -100, -80, -20, -5, -1,  -1e-3F, 0,
                             1e-3F, 1,    5,   20,  80, 100, 1000,   3};
  const std::vector<float> up(16, 2);
  float out[16];
  kernels().silu_mul_tile(gate.data(), up.data(), 1, out, 16);
  for (std::size_t i = 0; i < 16; ++i) {
    const double expected = 2 * gate[i] / (1 + std::exp(-double{gate[i]}));
    EXPECT_NEAR(out[i], expected, std::abs(expected) * 1e-6 + 1e-30) << gate[i];
  }
}

TEST_P(RowKernels, gelu_mul_equals_its_definition_from_tiny_to_huge) {
  std::vector<float> gate = {-1000, -100, -80, -20, -5, -1,  -1e-3F, 0,
                             1e-3F, 1,    5,   20,  80, 100, 1000,   3};
  const std::vector<float> up(16, 2);
  float out[16];
  kernels().gelu_mul_tile(gate.data(), up.data(), 1, out, 16);
  for (std::size_t i = 0; i < 16; ++i) {
    const double x = gate[i];
    const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
    const double expected = x * (1 + std::tanh(inner));
    EXPECT_NEAR(out[i], expected, std::abs(expected) * 1e-6 + 1e-6) << x;
  }
}

TEST_P(RowKernels, cap_follows_tanh_and_never_passes_the_cap) {
  std::vector<float> x = {-1e30F, -1000, -60, -50, -5, -1, -1e-3F, 0,
                          1e-3F,  1,     5,   50,  60, 99, 1000,   1e30F};
  const auto before = x;
  kernels().cap_row(x.data(), 16, 50);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_NEAR(x[i], 50 * std::tanh(double{before[i]} / 50), 2e-5) << before[i];
    EXPECT_LE(std::abs(x[i]), 50);
  }
}

TEST_P(RowKernels, rotate_turns_neighbour_pairs) {
  auto x = random_floats(16, 4);
  const auto before = x;
  float cosines[16];
  float sines[16];
  for (std::size_t i = 0; i < 16; i += 2) {
    const double angle = 0.3 * static_cast<double>(i + 1);
    cosines[i] = cosines[i + 1] = static_cast<float>(std::cos(angle));
    sines[i + 1] = static_cast<float>(std::sin(angle));
    sines[i] = -sines[i + 1];
  }
  kernels().rotate_16(x.data(), cosines, sines);
  for (std::size_t i = 0; i < 16; i += 2) {
    const double c = cosines[i];
    const double s = sines[i + 1];
    EXPECT_NEAR(x[i], before[i] * c - before[i + 1] * s, 1e-6);
    EXPECT_NEAR(x[i + 1], before[i + 1] * c + before[i] * s, 1e-6);
  }
}

TEST_P(RowKernels, f16_rounds_to_even_and_stays_finite) {
  const std::vector<float> x = {0,    1,     -2.5F, 1e6F,  -1e6F, 65504, 1.00048828125F, 6e-8F,
                                0.1F, -0.1F, 3,     1e-9F, 2049,  2051,  1000,           -7};
  std::uint16_t halves[16];
  kernels().to_f16_16(x.data(), halves);
  for (std::size_t i = 0; i < 16; ++i) {
    const float clamped = std::clamp(x[i], -65504.0F, 65504.0F);
    EXPECT_EQ(std::bit_cast<_Float16>(halves[i]), static_cast<_Float16>(clamped)) << x[i];
  }
}

TEST_P(RowKernels, tiles_are_added_and_stored_without_touching_padding) {
  const auto tile = random_floats(3 * 16, 5);
  for (const std::int64_t rows : {1, 7, 16}) {
    std::vector<float> to(3 * 20, 1.0F);
    kernels().add_tile(tile.data(), 3, rows, to.data(), 20);
    for (std::size_t t = 0; t < 3; ++t) {
      for (std::size_t i = 0; i < 20; ++i) {
        const bool inside = static_cast<std::int64_t>(i) < rows;
        EXPECT_EQ(to[t * 20 + i], inside ? 1.0F + tile[t * 16 + i] : 1.0F);
      }
    }
    kernels().store_tile(tile.data(), 3, rows, to.data(), 20);
    EXPECT_EQ(to[20], tile[16]);
    EXPECT_EQ(to[19], 1.0F);
  }
}

INSTANTIATE_TEST_SUITE_P(, RowKernels, testing::ValuesIn(runnable_tables()), table_name);

TEST(RowKernelTables, give_the_same_bits) {
  std::vector<std::vector<float>> results;
  std::vector<std::vector<std::byte>> panels;
  for (const KernelTable* table : runnable_tables()) {
    const auto x = random_floats(608, 6, 9);
    std::vector<float> out(x.size() * 3);
    table->gelu_mul_tile(x.data(), x.data() + 304, 19, out.data() + 1216, 16);
    std::copy_n(x.data(), 304, out.data() + 1520);
    table->cap_row(out.data() + 1520, 304, 3);
    table->rmsnorm_row(x.data(), x.data(), 601, 1e-5F, out.data());
    table->silu_mul_tile(x.data(), x.data() + 304, 19, out.data() + 608, 16);
    std::vector<std::byte> panel(19 * kPanelBlockBytes);
    table->quantise_row(x.data(), 608, panel.data(), 2);
    results.push_back(out);
    panels.push_back(panel);
  }
  for (std::size_t i = 1; i < results.size(); ++i) {
    EXPECT_EQ(std::memcmp(results[0].data(), results[i].data(), results[0].size() * 4), 0);
    EXPECT_EQ(panels[0], panels[i]);
  }
}

}  // namespace
}  // namespace kantha::ops::cpu
