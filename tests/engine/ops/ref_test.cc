#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/rng.h"
#include "engine/ops/ref/attention.h"
#include "engine/ops/ref/dequantize.h"
#include "engine/ops/ref/dot.h"
#include "engine/ops/ref/embedding.h"
#include "engine/ops/ref/gelu_mul.h"
#include "engine/ops/ref/matmul.h"
#include "engine/ops/ref/rmsnorm.h"
#include "engine/ops/ref/rope.h"
#include "engine/ops/ref/silu_mul.h"
#include "engine/ops/ref/soft_cap.h"
#include "engine/ops/ref/softmax.h"
#include "tests/fake/gguf_writer.h"

/// The reference against formulas written out in f64 here, and against values known by hand.
namespace kantha::ops::ref {
namespace {

std::vector<float> random_floats(std::uint64_t seed, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(random_unit(seed, i) * 2 - 1);
  }
  return values;
}

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TensorView view_of(DType type, std::int64_t rows, std::int64_t cols,
                   std::span<const std::byte> bytes) {
  return {type, rows, cols, bytes};
}

TEST(RefDequantize, WidensHalfFloatsExactly) {
  EXPECT_EQ(f16_to_f32(0x0000), 0.0F);
  EXPECT_TRUE(std::signbit(f16_to_f32(0x8000)));
  EXPECT_EQ(f16_to_f32(0x3c00), 1.0F);
  EXPECT_EQ(f16_to_f32(0xc000), -2.0F);
  EXPECT_EQ(f16_to_f32(0x7bff), 65504.0F);
  EXPECT_EQ(f16_to_f32(0x0001), 0x1.0p-24F);
  EXPECT_EQ(f16_to_f32(0x03ff), 1023 * 0x1.0p-24F);
  EXPECT_EQ(f16_to_f32(0x0400), 0x1.0p-14F);
  EXPECT_EQ(f16_to_f32(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(f16_to_f32(0x7e00)));
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(f16_to_f32(half), static_cast<float>(std::bit_cast<_Float16>(half))) << bits;
  }
}

TEST(RefDequantize, ReadsBlocksByHand) {
  // d = 2 (0x4000), m = -1 (0xbc00); the first byte holds element 0 (low) and 16 (high).
  std::vector<float> out(32);
  auto block = bytes_of({0x00, 0x40});
  block.resize(18, std::byte{0x88});
  block[2] = std::byte{0xf0};
  dequantize_row(view_of(DType::kQ4_0, 1, 32, block), 0, out);
  EXPECT_EQ(out[0], 2.0F * (0 - 8));
  EXPECT_EQ(out[16], 2.0F * (15 - 8));
  EXPECT_EQ(out[1], 0.0F);

  block = bytes_of({0x00, 0x40, 0x00, 0xbc});
  block.resize(20, std::byte{0x00});
  block[4 + 15] = std::byte{0x3a};
  dequantize_row(view_of(DType::kQ4_1, 1, 32, block), 0, out);
  EXPECT_EQ(out[0], -1.0F);
  EXPECT_EQ(out[15], 2.0F * 10 - 1);
  EXPECT_EQ(out[31], 2.0F * 3 - 1);

  block = bytes_of({0x00, 0x40, 0x80, 0x7f});
  block.resize(34, std::byte{0xff});
  dequantize_row(view_of(DType::kQ8_0, 1, 32, block), 0, out);
  EXPECT_EQ(out[0], 2.0F * -128);
  EXPECT_EQ(out[1], 2.0F * 127);
  EXPECT_EQ(out[31], -2.0F);

  std::vector<float> two(2);
  dequantize_row(view_of(DType::kBF16, 1, 2, bytes_of({0x80, 0x3f, 0x20, 0xc0})), 0, two);
  EXPECT_EQ(two[0], 1.0F);
  EXPECT_EQ(two[1], -2.5F);
}

TEST(RefDequantize, IsWithinHalfAStepOfWhatWasQuantised) {
  const struct {
    DType type;
    float error_max;  ///< for values within ±1
  } cases[] = {{DType::kF32, 0},       {DType::kF16, 0.0005F},  {DType::kBF16, 0.004F},
               {DType::kQ4_0, 0.145F}, {DType::kQ4_1, 0.07F},   {DType::kQ8_0, 0.0045F},
               {DType::kQ5_0, 0.07F},  {DType::kQ5_1, 0.035F},  {DType::kQ2_K, 0.45F},
               {DType::kQ3_K, 0.36F},  {DType::kQ4_K, 0.11F},   {DType::kQ5_K, 0.06F},
               {DType::kQ6_K, 0.04F},  {DType::kIQ4_NL, 0.13F}, {DType::kIQ4_XS, 0.16F},
               {DType::kMXFP4, 0.34F}};
  const std::vector<float> values = random_floats(3, 3 * 512);
  for (const auto& c : cases) {
    std::vector<std::byte> bytes;
    for (std::size_t row = 0; row < 3; ++row) {
      const auto packed = fake::quantize_row(c.type, std::span(values).subspan(row * 512, 512));
      bytes.insert(bytes.end(), packed.begin(), packed.end());
    }
    const TensorView view = view_of(c.type, 3, 512, bytes);
    ASSERT_EQ(std::ssize(bytes), 3 * view.row_bytes());
    std::vector<float> out(512);
    for (std::size_t row = 0; row < 3; ++row) {
      dequantize_row(view, static_cast<std::int64_t>(row), out);
      for (std::size_t i = 0; i < 512; ++i) {
        ASSERT_NEAR(out[i], values[row * 512 + i], c.error_max) << dtype_name(c.type) << " " << i;
      }
    }
  }
}

TEST(RefMatmul, EqualsTheSumInDoubleAtAnyShape) {
  for (const auto [rows, cols, count] :
       {std::array{1, 1, 1}, std::array{3, 7, 2}, std::array{5, 16, 4}, std::array{2, 33, 7},
        std::array{9, 96, 5}}) {
    const auto n = static_cast<std::size_t>(rows);
    const auto k = static_cast<std::size_t>(cols);
    const auto t = static_cast<std::size_t>(count);
    const std::vector<float> w = random_floats(1, n * k);
    const std::vector<float> x = random_floats(2, t * k);
    std::vector<float> y(t * n);
    std::vector<float> row(k);
    matmul(view_of(DType::kF32, rows, cols, std::as_bytes(std::span(w))), x, y, row);
    for (std::size_t at = 0; at < t; ++at) {
      for (std::size_t r = 0; r < n; ++r) {
        double sum = 0;
        for (std::size_t i = 0; i < k; ++i) sum += double{w[r * k + i]} * double{x[at * k + i]};
        ASSERT_NEAR(y[at * n + r], sum, 1e-5) << rows << "x" << cols << " row " << at;
      }
    }
  }
}

TEST(RefMatmul, ARowHasTheSameBitsAloneAndInCompany) {
  const std::size_t n = 8;
  const std::size_t k = 100;
  const std::size_t t = 11;
  const std::vector<float> w = random_floats(1, n * k);
  const std::vector<float> x = random_floats(2, t * k);
  const TensorView view = view_of(DType::kF32, n, k, std::as_bytes(std::span(w)));
  std::vector<float> row(k);
  std::vector<float> together(t * n);
  matmul(view, x, together, row);
  for (std::size_t at = 0; at < t; ++at) {
    std::vector<float> alone(n);
    matmul(view, std::span(x).subspan(at * k, k), alone, row);
    EXPECT_EQ(std::memcmp(alone.data(), &together[at * n], n * sizeof(float)), 0) << at;
  }
}

TEST(RefRmsnorm, DividesByTheRootMeanSquare) {
  const std::vector<float> x = {3, 4, 0, 0, 6, 8, 0, 0};
  const std::vector<float> weight = {1, 2, 1, 1};
  std::vector<float> y(8);
  rmsnorm(x, weight, 0, y);
  EXPECT_FLOAT_EQ(y[0], 3 / 2.5F);
  EXPECT_FLOAT_EQ(y[1], 2 * 4 / 2.5F);
  EXPECT_FLOAT_EQ(y[4], y[0]) << "rows are independent and scale-free";
  rmsnorm(x, weight, 100, y);
  EXPECT_FLOAT_EQ(y[0], 3 / std::sqrt(106.25F)) << "epsilon is inside the root";
  std::vector<float> in_place = x;
  rmsnorm(in_place, weight, 100, in_place);
  EXPECT_EQ(in_place, y);
}

TEST(RefRope, TurnsNeighbouringPairs) {
  // One head of 6 with 4 rotated elements, base 100: angles p and p / 10.
  std::vector<float> x = {1, 0, 0, 1, 5, 6, 1, 0, 0, 1, 5, 6};
  const std::vector<std::int32_t> positions = {0, 3};
  rope(x, positions, {.head_size = 6, .dims = 4, .base = 100});
  EXPECT_EQ(std::vector<float>(x.begin(), x.begin() + 6), (std::vector<float>{1, 0, 0, 1, 5, 6}));
  EXPECT_FLOAT_EQ(x[6], std::cos(3.0F));
  EXPECT_FLOAT_EQ(x[7], std::sin(3.0F));
  EXPECT_FLOAT_EQ(x[8], -std::sin(0.3F));
  EXPECT_FLOAT_EQ(x[9], std::cos(0.3F));
  EXPECT_EQ(x[10], 5) << "elements past dims stay";
}

TEST(RefRope, TurnsHalvesByGivenFrequencies) {
  // One head of 6 whose first 4 elements turn: pairs (0, 2) and (1, 3).
  std::vector<float> x = {1, 0, 0, 1, 5, 6};
  const std::vector<double> frequencies = {0.5, 0.25};
  rope(x, std::vector<std::int32_t>{2},
       {.head_size = 6, .dims = 4, .frequencies = frequencies, .magnitude = 3, .is_halves = true});
  EXPECT_FLOAT_EQ(x[0], 3 * std::cos(1.0F));
  EXPECT_FLOAT_EQ(x[2], 3 * std::sin(1.0F));
  EXPECT_FLOAT_EQ(x[1], -3 * std::sin(0.5F));
  EXPECT_FLOAT_EQ(x[3], 3 * std::cos(0.5F));
  EXPECT_EQ(x[4], 5) << "elements past dims stay";
}

TEST(RefRope, ScoresDependOnTheDistanceAlone) {
  const auto score = [](std::int32_t q_position, std::int32_t k_position) {
    std::vector<float> q = random_floats(1, 64);
    std::vector<float> k = random_floats(2, 64);
    rope(q, std::vector{q_position}, {.head_size = 64, .dims = 64, .base = 10000});
    rope(k, std::vector{k_position}, {.head_size = 64, .dims = 64, .base = 10000});
    return dot(q.data(), k.data(), 64);
  };
  EXPECT_NEAR(score(7, 3), score(4007, 4003), 1e-4);
  EXPECT_GT(std::fabs(score(7, 3) - score(9, 3)), 1e-2);
}

TEST(RefSoftmax, SumsToOneAndSurvivesLargeScores) {
  std::vector<float> scores = {1000, 1000 + std::numbers::ln2_v<float>, -1e30F};
  softmax(scores);
  EXPECT_NEAR(scores[0], 1.0 / 3, 1e-4);
  EXPECT_NEAR(scores[1], 2.0 / 3, 1e-4);
  EXPECT_EQ(scores[2], 0.0F);
}

TEST(RefSiluMul, FollowsTheFormula) {
  const std::vector<float> gate = {0, 1, -1, 100, -100};
  const std::vector<float> up = {3, 2, 2, 2, 2};
  std::vector<float> out(5);
  silu_mul(gate, up, out);
  EXPECT_EQ(out[0], 0.0F);
  EXPECT_FLOAT_EQ(out[1], 2 / (1 + std::exp(-1.0F)));
  EXPECT_FLOAT_EQ(out[2], -2 / (1 + std::exp(1.0F)));
  EXPECT_EQ(out[3], 200.0F);
  EXPECT_NEAR(out[4], 0.0F, 1e-30);
}

TEST(RefGeluMul, FollowsTheFormula) {
  const std::vector<float> gate = {-3, -0.5F, 0, 0.5F, 3};
  std::vector<float> out(5);
  gelu_mul(gate, std::vector<float>(5, 2), out);
  EXPECT_NEAR(out[0], 2 * -0.00363739F, 1e-6);
  EXPECT_NEAR(out[1], 2 * -0.15428599F, 1e-6);
  EXPECT_EQ(out[2], 0);
  EXPECT_NEAR(out[3], 2 * 0.34571401F, 1e-6);
  EXPECT_NEAR(out[4], 2 * 2.99636261F, 1e-6);
}

TEST(RefSoftCap, FollowsTanh) {
  std::vector<float> x = {-1000, -10, 0, 10, 1000};
  soft_cap(x, 20);
  EXPECT_EQ(x[0], -20);
  EXPECT_NEAR(x[1], -20 * std::tanh(0.5F), 1e-5);
  EXPECT_EQ(x[2], 0);
  EXPECT_NEAR(x[3], 20 * std::tanh(0.5F), 1e-5);
  EXPECT_EQ(x[4], 20);
}

TEST(RefEmbedding, CopiesTheNamedRows) {
  const std::vector<float> table = {0, 1, 10, 11, 20, 21};
  std::vector<float> out(4);
  embed(view_of(DType::kF32, 3, 2, std::as_bytes(std::span(table))), std::vector<TokenId>{2, 0},
        out);
  EXPECT_EQ(out, (std::vector<float>{20, 21, 0, 1}));
  EXPECT_DEATH(embed(view_of(DType::kF32, 3, 2, std::as_bytes(std::span(table))),
                     std::vector<TokenId>{3, 0}, out),
               "row within the matrix");
}

/// Keys and values of `count` positions laid out in blocks by a table.
struct Paged {
  std::vector<float> keys;
  std::vector<float> values;
};

Paged lay_out(std::span<const float> keys, std::span<const float> values, std::size_t width,
              std::span<const BlockId> table, std::size_t block_size, std::size_t block_count) {
  // Unwritten places hold NaN: reading one shows.
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Paged paged{std::vector<float>(block_count * block_size * width, nan),
              std::vector<float>(block_count * block_size * width, nan)};
  for (std::size_t p = 0; p < keys.size() / width; ++p) {
    const std::size_t slot =
        static_cast<std::size_t>(table[p / block_size]) * block_size + p % block_size;
    std::ranges::copy(keys.subspan(p * width, width), &paged.keys[slot * width]);
    std::ranges::copy(values.subspan(p * width, width), &paged.values[slot * width]);
  }
  return paged;
}

/// The textbook formula in f64 over dense keys and values [count, kv_heads, size].
std::vector<double> dense_attention(std::span<const float> q, std::span<const float> keys,
                                    std::span<const float> values, std::size_t count,
                                    std::size_t kv_heads, std::size_t size) {
  const std::size_t heads = q.size() / size;
  std::vector<double> out(q.size());
  for (std::size_t h = 0; h < heads; ++h) {
    const std::size_t kv_head = h * kv_heads / heads;
    std::vector<double> weights(count);
    for (std::size_t p = 0; p < count; ++p) {
      double score = 0;
      for (std::size_t i = 0; i < size; ++i) {
        score += double{q[h * size + i]} * double{keys[(p * kv_heads + kv_head) * size + i]};
      }
      weights[p] = std::exp(score / std::sqrt(static_cast<double>(size)));
    }
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::size_t p = 0; p < count; ++p) {
      for (std::size_t i = 0; i < size; ++i) {
        out[h * size + i] +=
            weights[p] / total * double{values[(p * kv_heads + kv_head) * size + i]};
      }
    }
  }
  return out;
}

TEST(RefAttention, PagedEqualsDenseAtAnyPlacement) {
  constexpr std::size_t kSize = 24;
  constexpr std::size_t kKvHeads = 2;
  constexpr std::size_t kHeads = 6;
  constexpr std::size_t kCount = 21;
  const std::vector<float> q = random_floats(1, kHeads * kSize);
  const std::vector<float> keys = random_floats(2, kCount * kKvHeads * kSize);
  const std::vector<float> values = random_floats(3, kCount * kKvHeads * kSize);
  const std::vector<double> dense = dense_attention(q, keys, values, kCount, kKvHeads, kSize);
  const struct {
    std::int32_t block_size;
    std::vector<BlockId> table;
  } cases[] = {{32, {0}}, {4, {0, 1, 2, 3, 4, 5}}, {4, {7, 2, 5, 0, 6, 1}}, {16, {3, 1}}};
  std::vector<float> first;
  for (const auto& c : cases) {
    const auto block_size = static_cast<std::size_t>(c.block_size);
    const Paged paged = lay_out(keys, values, kKvHeads * kSize, c.table, block_size, 8);
    std::vector<float> scores(kCount);
    std::vector<float> out(q.size());
    attention_row(q, {paged.keys, paged.values, c.block_size, kKvHeads, kSize}, c.table, 0,
                  kCount - 1, scores, out);
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], dense[i], 1e-6);
    if (first.empty()) first = out;
    EXPECT_EQ(out, first) << "the same bits at block size " << c.block_size;
  }
}

TEST(RefAttention, DoesNotLookAhead) {
  const std::vector<float> keys = random_floats(2, 4 * 8);
  const std::vector<float> values = random_floats(3, 4 * 8);
  const std::vector<float> q = random_floats(1, 8);
  const std::vector<BlockId> table = {0};
  std::vector<float> scores(8);
  std::vector<float> out(8);
  // Positions past 3 are NaN in the block.
  const Paged paged = lay_out(keys, values, 8, table, 8, 1);
  attention_row(q, {paged.keys, paged.values, 8, 1, 8}, table, 0, 3, scores, out);
  for (const float x : out) EXPECT_TRUE(std::isfinite(x));
  attention_row(q, {paged.keys, paged.values, 8, 1, 8}, table, 0, 0, scores, out);
  EXPECT_EQ(out, std::vector<float>(values.begin(), values.begin() + 8))
      << "one position: its value";
}

TEST(RefAttention, DoesNotLookBackPastTheWindow) {
  constexpr std::size_t kCount = 21;
  const std::vector<float> q = random_floats(1, 8);
  const std::vector<float> keys = random_floats(2, kCount * 8);
  const std::vector<float> values = random_floats(3, kCount * 8);
  // Blocks of 4; those before the window are not there.
  const std::vector<BlockId> table = {-1, -1, -1, 4, 2, 3};
  std::vector<float> scores(9);
  for (const std::int32_t first : {12, 13, 15, 16, 20}) {
    std::vector<float> out(8);
    const std::vector<BlockId> all = {5, 6, 7, 4, 2, 3};
    const Paged paged = lay_out(keys, values, 8, all, 4, 8);
    attention_row(q, {paged.keys, paged.values, 4, 1, 8}, table, first, kCount - 1, scores, out);
    const auto seen = [&](const std::vector<float>& from) {
      return std::vector<float>(from.begin() + first * 8, from.end());
    };
    const std::vector<double> dense = dense_attention(
        q, seen(keys), seen(values), kCount - static_cast<std::size_t>(first), 1, 8);
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], dense[i], 1e-6);
  }
}

}  // namespace
}  // namespace kantha::ops::ref
