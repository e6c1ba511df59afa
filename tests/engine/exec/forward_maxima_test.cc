#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "engine/exec/row_kernels.h"
#include "tests/engine/exec/forward_cpu_driver.h"
#include "tests/engine/exec/forward_cpu_tiny_model.h"

/// What a Forward offers for sampling: maxima and sums of blocks of logits, and its threads.
namespace kantha::exec {
namespace {

// Two whole blocks of logits and a part of a third.
constexpr model::LlamaConfig kConfig{.layers = 1,
                                     .width = 64,
                                     .heads = 2,
                                     .kv_heads = 1,
                                     .head_size = 32,
                                     .ffn_width = 64,
                                     .vocabulary = 701,
                                     .context = 128,
                                     .rope_dims = 32};

std::unique_ptr<Forward> make(const TinyModel& tiny, std::int32_t threads) {
  return make_forward_cpu(tiny.model(), {.kv = {.block_size = 16, .block_count = 8},
                                         .rows_max = 128,
                                         .logit_rows_max = 128,
                                         .threads = threads})
      .value();
}

/// What a pass notes; each third row wants no sums.
struct Notes {
  std::vector<float> maxima;
  std::vector<float> inverse;
  std::vector<float> sums;
};

/// One sequence of `count` tokens with the logits of every row, and their notes if wanted.
void run(Forward& forward, std::int32_t count, std::vector<float>& logits, Notes* notes) {
  const std::vector<TokenId> tokens = random_tokens(count, kConfig.vocabulary, 5);
  std::vector<std::int32_t> places(tokens.size());
  std::iota(places.begin(), places.end(), 0);
  std::vector<BlockId> table(8);
  std::iota(table.begin(), table.end(), 0);
  const std::vector<std::int32_t> starts{0, count};
  Batch batch;
  batch.token_ids = tokens;
  batch.positions = places;
  batch.slots = places;
  batch.row_starts = starts;
  batch.block_tables = table;
  batch.block_table_stride = 8;
  batch.logit_rows = places;
  logits.assign(tokens.size() * 701, -1);
  if (notes == nullptr) return forward.run(batch, logits);
  notes->maxima.assign(tokens.size() * logit_blocks(701), -1);
  notes->sums.assign(notes->maxima.size(), -1);
  notes->inverse.resize(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    notes->inverse[i] = 0.5F * static_cast<float>(i % 3);
  }
  forward.run_with_notes(batch, logits, {notes->maxima, notes->inverse, notes->sums});
}

TEST(ForwardMaxima, AreThoseOfTheBlocksOnAnyNumberOfThreads) {
  const TinyModel tiny(kConfig, TinyTypes::all(ops::DType::kQ8_0));
  for (const std::int32_t count : {1, 7, 8, 9, 63, 128}) {
    std::vector<float> plain;
    run(*make(tiny, 1), count, plain, nullptr);
    for (const std::int32_t threads : {1, 2, 3, 5}) {
      SCOPED_TRACE(testing::Message() << count << " rows, " << threads << " threads");
      std::vector<float> logits;
      Notes notes;
      run(*make(tiny, threads), count, logits, &notes);
      ASSERT_EQ(std::memcmp(logits.data(), plain.data(), plain.size() * sizeof(float)), 0);
      for (std::size_t i = 0; i < notes.maxima.size(); ++i) {
        const std::size_t start = i % 3 * kLogitBlock;
        const auto block = std::span(plain).subspan(
            i / 3 * 701 + start, std::min<std::size_t>(kLogitBlock, 701 - start));
        const float inverse = notes.inverse[i / 3];
        ASSERT_EQ(notes.maxima[i], std::ranges::max(block));
        ASSERT_EQ(notes.sums[i],
                  inverse > 0 ? block_weight(block, notes.maxima[i], inverse) : -1.0F);
      }
    }
  }
}

TEST(ForwardMaxima, ABrokenModelIsSeenInThem) {
  TinyModel tiny(kConfig, TinyTypes{});
  auto norm = tiny.model().output_norm;
  std::vector<float> broken(64, 1.0F);
  broken[3] = std::numeric_limits<float>::quiet_NaN();
  norm.bytes = std::as_bytes(std::span(broken));
  tiny.model().output_norm = norm;
  std::vector<float> logits;
  Notes notes;
  run(*make(tiny, 2), 4, logits, &notes);
  for (const float most : notes.maxima) EXPECT_TRUE(std::isnan(most));
}

TEST(ForwardThreads, EveryItemIsVisitedOnceByAThreadThatExists) {
  const TinyModel tiny(kConfig, TinyTypes{});
  for (const std::int32_t threads : {1, 2, 4}) {
    const std::unique_ptr<Forward> forward = make(tiny, threads);
    EXPECT_EQ(forward->threads(), threads);
    for (const std::int32_t count : {0, 1, 2, 100}) {
      std::vector<std::atomic<int>> visits(100);
      std::atomic<bool> stranger = false;
      auto visit = [&](std::int32_t item, int thread) {
        ++visits[static_cast<std::size_t>(item)];
        if (thread < 0 || thread >= threads) stranger = true;
      };
      forward->for_each(count, visit);
      EXPECT_FALSE(stranger);
      for (std::int32_t i = 0; i < 100; ++i) {
        EXPECT_EQ(visits[static_cast<std::size_t>(i)], i < count ? 1 : 0);
      }
    }
  }
}

}  // namespace
}  // namespace kantha::exec
