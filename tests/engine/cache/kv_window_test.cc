#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "engine/cache/sequence_blocks.h"

/// Groups of layers with sliding windows.
namespace kantha::cache {
namespace {

std::vector<TokenId> tokens_from(TokenId first, int count) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

/// Computes tokens [from, to) in chunks.
void compute(SequenceBlocks& blocks, const std::vector<TokenId>& tokens, std::int32_t from,
             std::int32_t to, std::int32_t chunk) {
  std::vector<BlockCopy> copies;
  for (std::int32_t at = from; at < to; at += chunk) {
    const std::int32_t end = std::min(to, at + chunk);
    ASSERT_TRUE(blocks.prepare_write(at, end, copies));
    blocks.publish(std::span(tokens).first(static_cast<std::size_t>(end)), 0);
  }
}

TEST(KvWindow, ARowLeavesAGroupWhenNoTokenSeesItAnyMore) {
  KvCache kv({.block_count = 32, .block_size = 4, .groups = {{}, {.window = 6}}});
  SequenceBlocks blocks(kv);
  const std::vector<TokenId> tokens = tokens_from(1, 17);
  compute(blocks, tokens, 0, 9, 9);
  EXPECT_NE(blocks.block(1, 0), kNoBlock) << "token 8 saw 3 … 8 and may be computed again";
  EXPECT_EQ(blocks.held(), 6);
  compute(blocks, tokens, 9, 10, 1);
  EXPECT_EQ(blocks.block(1, 0), kNoBlock) << "token 9 saw 4 … 9";
  EXPECT_NE(blocks.block(0, 0), kNoBlock) << "the other group sees all";
  EXPECT_NE(blocks.block(1, 1), kNoBlock);
  EXPECT_EQ(blocks.rows(), 3);
  EXPECT_EQ(blocks.held(), 5);
  EXPECT_EQ(blocks.slot(1, 5), blocks.block(1, 1) * 4 + 1);
  EXPECT_NE(blocks.block(0, 1), blocks.block(1, 1)) << "every group has its own block";
  EXPECT_TRUE(kv.check_integrity().ok());
}

TEST(KvWindow, AHitNeedsOnlyWhatTheNextTokenSees) {
  KvCache kv({.block_count = 10, .block_size = 4, .groups = {{}, {.window = 5}}});
  const std::vector<TokenId> tokens = tokens_from(1, 16);
  {
    SequenceBlocks first(kv);
    compute(first, tokens, 0, 16, 4);
  }
  EXPECT_EQ(kv.cached(), 8);
  const std::vector<TokenId> longer = tokens_from(1, 20);
  const PrefixHit hit = kv.find_whole(longer, 0);
  EXPECT_EQ(hit.tokens, 16);
  EXPECT_EQ(hit.blocks_held, 5) << "four rows, and the last one for the window";
  SequenceBlocks next(kv);
  std::vector<BlockCopy> copies;
  next.adopt(hit, copies);
  EXPECT_EQ(next.block(1, 2), kNoBlock) << "token 16 sees 12 … 16";
  EXPECT_NE(next.block(1, 3), kNoBlock);
  EXPECT_EQ(next.held(), 5);
  // Take everything else: old rows of the window go, the hit stays as good.
  SequenceBlocks other(kv);
  ASSERT_TRUE(other.prepare_write(0, 8, copies));
  EXPECT_EQ(kv.idle(), 1);
  EXPECT_EQ(kv.find_whole(longer, 0).tokens, 16);
  EXPECT_EQ(kv.find_whole(std::span(longer).first(9), 0).tokens, 0)
      << "rows 0 … 1 are known, but the window's block of row 1 is gone";
  EXPECT_TRUE(kv.check_integrity().ok());
}

TEST(KvWindow, AnOldBlockComesBackWithTheNextSequenceThatComputesIt) {
  KvCache kv({.block_count = 10, .block_size = 4, .groups = {{}, {.window = 5}}});
  const std::vector<TokenId> tokens = tokens_from(1, 16);
  SequenceBlocks first(kv);
  compute(first, tokens, 0, 16, 4);
  {
    SequenceBlocks other(kv);
    std::vector<BlockCopy> copies;
    ASSERT_TRUE(other.prepare_write(0, 8, copies));  // evicts rows 0 and 1 of the window
  }
  EXPECT_EQ(kv.find_whole(std::span(tokens).first(9), 0).tokens, 0);
  {
    SequenceBlocks again(kv);
    compute(again, tokens, 0, 8, 8);
    EXPECT_EQ(again.block(0, 0), first.block(0, 0)) << "the known blocks are taken";
  }
  EXPECT_EQ(kv.find_whole(std::span(tokens).first(9), 0).tokens, 8);
  EXPECT_TRUE(kv.check_integrity().ok());
}

TEST(KvWindow, WithWindowsEverywhereASequenceLivesInAFewBlocks) {
  const KvCacheOptions options{
      .block_count = 8, .block_size = 4, .groups = {{.window = 8}, {.window = 3}}};
  KvCache kv(options);
  const std::int32_t most = blocks_for(options, 1000, 4);
  ASSERT_LE(most, 8);
  const std::vector<TokenId> tokens = tokens_from(1, 1000);
  SequenceBlocks blocks(kv);
  for (std::int32_t at = 0; at < 1000; at += 4) {
    compute(blocks, tokens, at, at + 4, 4);
    ASSERT_LE(blocks.held(), most);
    ASSERT_TRUE(kv.check_integrity().ok()) << kv.check_integrity().error().message;
  }
  blocks.clear(tokens, 0);
  EXPECT_TRUE(kv.check_integrity().ok());
}

TEST(KvWindow, WithWindowsEverywhereALongPrefixIsFoundByItsLastRows) {
  KvCache kv({.block_count = 8, .block_size = 4, .groups = {{.window = 8}}});
  const std::vector<TokenId> tokens = tokens_from(1, 64);
  {
    SequenceBlocks blocks(kv);
    compute(blocks, tokens, 0, 64, 4);
  }
  const std::vector<TokenId> longer = tokens_from(1, 70);
  const PrefixHit hit = kv.find(longer, 0);
  EXPECT_EQ(hit.tokens, 64) << "the first rows have no blocks any more";
  EXPECT_EQ(hit.blocks_held, 2) << "token 64 sees 57 … 64";
  SequenceBlocks next(kv);
  std::vector<BlockCopy> copies;
  next.adopt(hit, copies);
  compute(next, longer, 64, 70, 3);
  EXPECT_TRUE(kv.check_integrity().ok());
}

TEST(KvWindow, RowsThatOnlyLeadSomewhereMakeWayForNewOnes) {
  // 4 nodes per block: each long sequence leaves 25 rows, and 8 blocks remember 32.
  KvCache kv({.block_count = 8, .block_size = 4, .groups = {{.window = 8}}});
  for (int i = 0; i < 20; ++i) {
    const std::vector<TokenId> tokens = tokens_from(1000 * i, 100);
    SequenceBlocks blocks(kv);
    compute(blocks, tokens, 0, 100, 4);
    blocks.clear(tokens, 0);
    ASSERT_TRUE(kv.check_integrity().ok()) << kv.check_integrity().error().message;
  }
  EXPECT_EQ(kv.find(tokens_from(19000, 101), 0).tokens, 100);
}

TEST(KvWindow, TailsAndPartsAreTakenInEveryGroup) {
  KvCache kv({.block_count = 16, .block_size = 8, .groups = {{}, {.window = 4}}});
  const std::vector<TokenId> tokens = tokens_from(1, 14);
  {
    SequenceBlocks first(kv);
    compute(first, tokens, 0, 14, 14);
    first.clear(tokens, 0);
  }
  EXPECT_EQ(kv.cached(), 4);
  const std::vector<TokenId> longer = tokens_from(1, 20);
  const PrefixHit hit = kv.find(longer, 0);
  EXPECT_EQ(hit.tokens, 14);
  EXPECT_EQ(hit.blocks_held, 3) << "token 14 sees 11 … 14: row 0 only where all is seen";
  EXPECT_EQ(hit.blocks_taken, 3);
  SequenceBlocks next(kv);
  std::vector<BlockCopy> copies;
  next.adopt(hit, copies);
  EXPECT_EQ(copies.size(), 2U);
  EXPECT_EQ(copies[0].to, next.block(0, 1));
  EXPECT_EQ(copies[1].to, next.block(1, 1));
  EXPECT_EQ(next.held(), 3);
  EXPECT_TRUE(kv.check_integrity().ok());
}

TEST(KvWindow, AForkOfThePromptFindsWhatItsLastTokenSees) {
  for (std::int32_t window = 1; window <= 9; ++window) {
    for (std::int32_t prompt = 1; prompt <= 20; ++prompt) {
      SCOPED_TRACE(testing::Message() << window << " of " << prompt);
      KvCache kv({.block_count = 32, .block_size = 4, .groups = {{}, {.window = window}}});
      const std::vector<TokenId> tokens = tokens_from(1, prompt);
      SequenceBlocks first(kv);
      compute(first, tokens, 0, prompt, prompt);
      ASSERT_TRUE(first.can_share(prompt - 1));
      SequenceBlocks fork(kv);
      fork.share(first, prompt - 1);
      for (std::int32_t seen = std::max(0, prompt - window); seen < prompt - 1; ++seen) {
        EXPECT_EQ(fork.slot(1, seen), first.slot(1, seen));
      }
      compute(fork, tokens, prompt - 1, prompt, 1);
      EXPECT_TRUE(kv.check_integrity().ok());
    }
  }
}

TEST(KvWindow, BlocksForCountsWindowsAndChunks) {
  struct Case {
    const char* name;
    std::vector<KvGroup> groups;
    std::int32_t tokens;
    std::int32_t chunk;
    std::int32_t blocks;
  };
  const Case cases[] = {
      {"everything seen", {{}}, 100, 8, 25},
      {"two groups", {{}, {}}, 100, 8, 50},
      {"a window of 8 and a chunk of 8: 16 places that begin anywhere", {{.window = 8}}, 100, 8, 5},
      {"a window longer than the sequence", {{.window = 400}}, 100, 8, 25},
      {"both", {{}, {.window = 8}}, 100, 8, 30},
      {"one place", {{.window = 1}}, 100, 1, 2},
  };
  for (const Case& c : cases) {
    const KvCacheOptions options{.block_count = 1, .block_size = 4, .groups = c.groups};
    EXPECT_EQ(blocks_for(options, c.tokens, c.chunk), c.blocks) << c.name;
  }
}

}  // namespace
}  // namespace kantha::cache
