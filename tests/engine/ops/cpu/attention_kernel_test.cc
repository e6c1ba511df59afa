#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/engine/ops/cpu/kernel_tables.h"
#include "tests/engine/ops/cpu/random_tensor.h"

namespace kantha::ops::cpu {
namespace {

/// Keys, values and queries of one KV head, with tiles as pages hold them.
class Context {
 public:
  Context(std::int64_t head_size, std::int64_t tokens, std::int64_t queries, std::uint64_t seed)
      : head_size_(head_size),
        padded_((head_size + 15) / 16 * 16),
        tiles_((tokens + 15) / 16),
        // Past the context lie NaNs, as a page's last owner may have left them.
        k_(static_cast<std::size_t>(tiles_ * 16 * head_size), 0x7e00),
        v_(static_cast<std::size_t>(tiles_ * 16 * padded_), 0x7e00),
        q_(random_floats(static_cast<std::size_t>(queries * head_size), seed)) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t d = 0; d < padded_; ++d) {
        const auto index = static_cast<std::uint64_t>(t * 1000 + d);
        if (d < head_size) k_half(t, d) = half(random_signed(seed + 1, index));
        v_half(t, d) = d < head_size ? half(random_signed(seed + 2, index)) : 0;
      }
    }
  }

  /// out [queries, head_size]; query i sees the last `window` of visible[i] tokens, 0 = all. What
  /// no query sees is not there.
  std::vector<float> attend(const KernelTable& kernels, std::int64_t first_query,
                            const std::vector<std::int32_t>& visible,
                            std::int32_t window = 0) const {
    const auto queries = static_cast<std::int64_t>(visible.size());
    const auto count = visible.size();
    std::vector<float> scores(count * kAttentionPiece);
    std::vector<float> state(4 * count);
    std::vector<float> out(count * static_cast<std::size_t>(padded_));
    std::vector<std::int32_t> hidden(count);
    std::vector<std::int32_t> in_piece(count);
    const std::int64_t end = *std::max_element(visible.begin(), visible.end());
    const std::int64_t least = *std::min_element(visible.begin(), visible.end());
    const std::int64_t begin = window == 0 ? 0 : std::max<std::int64_t>(0, least - window);
    const std::int64_t first_piece = begin / kAttentionPiece * kAttentionPiece;
    AttentionPiece piece{.queries = queries,
                         .head_size = head_size_,
                         .q = q_.data() + first_query * head_size_,
                         .hidden = hidden.data(),
                         .visible = in_piece.data(),
                         .scores = scores.data(),
                         .max = state.data(),
                         .sum = state.data() + queries,
                         .scales = state.data() + 2 * queries,
                         .out = out.data()};
    for (std::int64_t first = first_piece; first < end; first += kAttentionPiece) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t seen = window == 0 ? 0 : visible[i] - window;
        hidden[i] =
            static_cast<std::int32_t>(std::clamp<std::int64_t>(seen - first, 0, kAttentionPiece));
        in_piece[i] = static_cast<std::int32_t>(
            std::clamp<std::int64_t>(visible[i] - first, 0, kAttentionPiece));
      }
      piece.first = first == first_piece;
      piece.first_tile = std::max<std::int64_t>(0, begin - first) / 16;
      piece.tiles = (std::min(kAttentionPiece, end - first) + 15) / 16;
      for (std::int64_t j = piece.first_tile; j < piece.tiles; ++j) {
        piece.k[j] = k_.data() + (first / 16 + j) * 16 * head_size_;
        piece.v[j] = v_.data() + (first + j * 16) * padded_;
      }
      kernels.attend_piece(piece);
    }
    std::vector<float> result;
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t d = 0; d < head_size_; ++d) {
        result.push_back(out[static_cast<std::size_t>(i * padded_ + d)] / piece.sum[i]);
      }
    }
    return result;
  }

  double expected(std::int64_t query, std::int32_t visible, std::int64_t dim,
                  std::int32_t window = 0) const {
    double sum = 0;
    double out = 0;
    for (std::int32_t t = window == 0 ? 0 : std::max(0, visible - window); t < visible; ++t) {
      double score = 0;
      for (std::int64_t d = 0; d < head_size_; ++d) {
        score +=
            double{q_[static_cast<std::size_t>(query * head_size_ + d)]} * value(k_[k_index(t, d)]);
      }
      sum += std::exp(score);
      out += std::exp(score) * value(v_[static_cast<std::size_t>(t * padded_ + dim)]);
    }
    return out / sum;
  }

 private:
  static std::uint16_t half(double v) {
    return std::bit_cast<std::uint16_t>(static_cast<_Float16>(v));
  }
  static double value(std::uint16_t bits) {
    return static_cast<double>(std::bit_cast<_Float16>(bits));
  }
  std::size_t k_index(std::int64_t t, std::int64_t d) const {
    return static_cast<std::size_t>((t / 16 * head_size_ + d) * 16 + t % 16);
  }
  std::uint16_t& k_half(std::int64_t t, std::int64_t d) { return k_[k_index(t, d)]; }
  std::uint16_t& v_half(std::int64_t t, std::int64_t d) {
    return v_[static_cast<std::size_t>(t * padded_ + d)];
  }

  std::int64_t head_size_;
  std::int64_t padded_;
  std::int64_t tiles_;
  std::vector<std::uint16_t> k_;
  std::vector<std::uint16_t> v_;
  std::vector<float> q_;
};

class AttentionKernel : public EachTable {};

TEST_P(AttentionKernel, equals_a_plain_double_loop) {
  for (const std::int64_t head_size : {8, 16, 24, 64, 80, 128}) {
    for (const std::int32_t tokens : {1, 15, 17, 256, 300, 700}) {
      SCOPED_TRACE(std::to_string(head_size) + " dims, " + std::to_string(tokens) + " tokens");
      const Context context(head_size, tokens, 14, 17);
      std::vector<std::int32_t> visible;
      for (std::int32_t i = 0; i < 14; ++i) visible.push_back(std::max(1, tokens - 13 + i));
      const auto out = context.attend(kernels(), 0, visible);
      for (std::int64_t i = 0; i < 14; ++i) {
        for (std::int64_t d = 0; d < head_size; d += 5) {
          ASSERT_NEAR(out[static_cast<std::size_t>(i * head_size + d)],
                      context.expected(i, visible[static_cast<std::size_t>(i)], d), 3e-6)
              << "query " << i << " dim " << d;
        }
      }
    }
  }
}

TEST_P(AttentionKernel, gives_a_query_the_same_bits_alone_and_in_company) {
  for (const std::int64_t head_size : {24, 64}) {
    const Context context(head_size, 520, 13, 5);
    const std::vector<std::int32_t> visible = {250, 251, 252, 253, 254, 255, 256,
                                               257, 258, 511, 512, 513, 520};
    const auto all = context.attend(kernels(), 0, visible);
    for (std::size_t i = 0; i < visible.size(); ++i) {
      const auto alone = context.attend(kernels(), static_cast<std::int64_t>(i), {visible[i]});
      EXPECT_EQ(std::memcmp(alone.data(), all.data() + i * alone.size(), alone.size() * 4), 0)
          << "query " << i;
    }
  }
}

TEST_P(AttentionKernel, sees_no_further_than_its_window) {
  for (const std::int32_t window : {1, 3, 16, 17, 250, 256, 300, 512}) {
    SCOPED_TRACE(window);
    const Context context(24, 700, 14, 17);
    std::vector<std::int32_t> visible;
    for (std::int32_t i = 0; i < 14; ++i) visible.push_back(687 - (i % 2) * 170 + i);
    const auto out = context.attend(kernels(), 0, visible, window);
    for (std::int64_t i = 0; i < 14; ++i) {
      for (std::int64_t d = 0; d < 24; d += 5) {
        ASSERT_NEAR(out[static_cast<std::size_t>(i * 24 + d)],
                    context.expected(i, visible[static_cast<std::size_t>(i)], d, window), 3e-6)
            << "query " << i << " dim " << d;
      }
    }
  }
}

TEST_P(AttentionKernel, gives_a_windowed_query_the_same_bits_alone_and_in_company) {
  for (const std::int32_t window : {1, 5, 40, 256, 270}) {
    const Context context(24, 560, 13, 5);
    const std::vector<std::int32_t> visible = {250, 251, 252, 255, 256, 257, 258,
                                               300, 511, 512, 513, 520, 560};
    const auto all = context.attend(kernels(), 0, visible, window);
    for (std::size_t i = 0; i < visible.size(); ++i) {
      const auto alone =
          context.attend(kernels(), static_cast<std::int64_t>(i), {visible[i]}, window);
      EXPECT_EQ(std::memcmp(alone.data(), all.data() + i * alone.size(), alone.size() * 4), 0)
          << "query " << i << " window " << window;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, AttentionKernel, testing::ValuesIn(runnable_tables()), table_name);

TEST(AttentionKernelTables, give_the_same_bits) {
  const Context context(64, 600, 9, 8);
  std::vector<std::vector<float>> results;
  for (const KernelTable* table : runnable_tables()) {
    results.push_back(context.attend(*table, 0, {600, 599, 1, 2, 300, 257, 256, 255, 16}));
    EXPECT_EQ(std::memcmp(results[0].data(), results.back().data(), results[0].size() * 4), 0);
  }
}

}  // namespace
}  // namespace kantha::ops::cpu
