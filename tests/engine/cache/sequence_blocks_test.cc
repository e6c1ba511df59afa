#include "engine/cache/sequence_blocks.h"

#include <gtest/gtest.h>

#include <numeric>

namespace kantha::cache {
namespace {

std::vector<TokenId> tokens_from(TokenId first, int count) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

TEST(SequenceBlocks, SharingCopiesOnlyTheBlockWrittenTo) {
  KvCache kv({.block_count = 8, .block_size = 4});
  SequenceBlocks original(kv);
  std::vector<BlockCopy> copies;
  ASSERT_TRUE(original.prepare_write(0, 6, copies));
  original.publish(tokens_from(1, 6), 0);
  SequenceBlocks fork(kv);
  fork.share(original, 6);
  EXPECT_EQ(kv.active(), 2);
  EXPECT_EQ(kv.usage().tokens_used, 6) << "shared, counted once";
  EXPECT_EQ(fork.blocks_to_write(6, 7), 1);
  EXPECT_EQ(fork.blocks_to_write(6, 9), 2);
  ASSERT_TRUE(fork.prepare_write(6, 9, copies));
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].from, original.block(0, 1));
  EXPECT_EQ(copies[0].to, fork.block(0, 1));
  EXPECT_EQ(fork.block(0, 0), original.block(0, 0));
  EXPECT_NE(fork.block(0, 1), original.block(0, 1));
  EXPECT_EQ(fork.rows(), 3);
  EXPECT_EQ(kv.usage().tokens_used, 8) << "the copied tokens are there twice";
  copies.clear();
  ASSERT_TRUE(original.prepare_write(6, 8, copies)) << "the last holder writes in place";
  EXPECT_TRUE(copies.empty());
  EXPECT_TRUE(kv.check_integrity().ok());
}

TEST(SequenceBlocks, AForkOfFewerTokensCountsOnlyThose) {
  KvCache kv({.block_count = 8, .block_size = 8});
  std::vector<BlockCopy> copies;
  SequenceBlocks fork(kv);
  {
    SequenceBlocks original(kv);
    ASSERT_TRUE(original.prepare_write(0, 7, copies));
    original.publish(tokens_from(1, 7), 0);
    ASSERT_FALSE(original.can_share(8)) << "not computed yet";
    ASSERT_TRUE(original.can_share(5));
    fork.share(original, 5);
  }
  ASSERT_TRUE(fork.prepare_write(5, 6, copies));
  EXPECT_TRUE(copies.empty()) << "nobody else is left";
  EXPECT_EQ(kv.usage().tokens_used, 5);
  fork.publish(tokens_from(1, 6), 0);
  EXPECT_EQ(kv.usage().tokens_used, 6);
}

TEST(SequenceBlocks, PrepareWriteIsAllOrNothing) {
  KvCache kv({.block_count = 3, .block_size = 4});
  SequenceBlocks blocks(kv);
  std::vector<BlockCopy> copies;
  ASSERT_TRUE(blocks.prepare_write(0, 5, copies));
  EXPECT_FALSE(blocks.prepare_write(5, 13, copies));
  EXPECT_EQ(blocks.rows(), 2);
  EXPECT_EQ(kv.idle(), 1);
  EXPECT_TRUE(blocks.prepare_write(5, 12, copies));
  EXPECT_EQ(blocks.slot(0, 9), blocks.block(0, 2) * 4 + 1);
}

TEST(SequenceBlocks, EqualContentIsKeptOnce) {
  KvCache kv({.block_count = 8, .block_size = 2});
  const std::vector<TokenId> tokens = tokens_from(1, 4);
  std::vector<BlockCopy> copies;
  SequenceBlocks first(kv);
  SequenceBlocks second(kv);
  ASSERT_TRUE(first.prepare_write(0, 4, copies));
  ASSERT_TRUE(second.prepare_write(0, 4, copies));
  EXPECT_EQ(kv.active(), 4);
  first.publish(tokens, 0);
  second.publish(tokens, 0);
  EXPECT_EQ(kv.active(), 2);
  EXPECT_EQ(kv.usage().tokens_used, 4);
  EXPECT_EQ(first.block(0, 1), second.block(0, 1));
  first.clear();
  EXPECT_EQ(kv.active(), 2) << "the other one still holds them";
  EXPECT_TRUE(kv.check_integrity().ok());
}

TEST(SequenceBlocks, AHitTakesTheHeldOnesForNothing) {
  KvCache kv({.block_count = 8, .block_size = 4});
  std::vector<BlockCopy> copies;
  SequenceBlocks running(kv);
  ASSERT_TRUE(running.prepare_write(0, 10, copies));
  running.publish(tokens_from(1, 10), 0);
  const std::vector<TokenId> tokens = tokens_from(1, 12);
  const PrefixHit hit = kv.find(tokens, 0);
  EXPECT_EQ(hit.tokens, 8) << "the tail of a running sequence is its own";
  EXPECT_EQ(hit.blocks_held, 2);
  EXPECT_EQ(hit.blocks_taken, 0);
  SequenceBlocks next(kv);
  next.adopt(hit, copies);
  EXPECT_EQ(next.rows(), 2);
  EXPECT_EQ(next.held(), 2);
  EXPECT_EQ(kv.active(), 3);
}

TEST(SequenceBlocks, ATailThatAnotherHoldsIsNotPublished) {
  KvCache kv({.block_count = 8, .block_size = 4});
  std::vector<BlockCopy> copies;
  const std::vector<TokenId> tokens = tokens_from(1, 6);
  SequenceBlocks first(kv);
  ASSERT_TRUE(first.prepare_write(0, 6, copies));
  first.publish(tokens, 0);
  SequenceBlocks fork(kv);
  fork.share(first, 6);
  first.clear(tokens, 0);
  EXPECT_EQ(kv.cached(), 0);
  ASSERT_TRUE(fork.prepare_write(6, 7, copies));
  EXPECT_TRUE(copies.empty()) << "the fork writes on in place";
  fork.clear(tokens, 0);
  EXPECT_EQ(kv.cached(), 2) << "the last one leaves it";
  EXPECT_TRUE(kv.check_integrity().ok());
}

TEST(SequenceBlocks, MovesWithItsBlocks) {
  KvCache kv({.block_count = 8, .block_size = 4});
  std::vector<BlockCopy> copies;
  SequenceBlocks first(kv);
  ASSERT_TRUE(first.prepare_write(0, 6, copies));
  first.publish(tokens_from(1, 6), 0);
  SequenceBlocks second(std::move(first));
  EXPECT_EQ(first.rows(), 0);  // NOLINT
  EXPECT_EQ(second.rows(), 2);
  ASSERT_TRUE(second.prepare_write(6, 9, copies));
  second.publish(tokens_from(1, 9), 0);
  second.clear();
  EXPECT_EQ(kv.active(), 0);
  EXPECT_EQ(kv.cached(), 2);
}

TEST(SequenceBlocksDeathTest, MisuseEndsTheProcess) {
  KvCache kv({.block_count = 8, .block_size = 4});
  SequenceBlocks blocks(kv);
  std::vector<BlockCopy> copies;
  ASSERT_TRUE(blocks.prepare_write(0, 6, copies));
  blocks.publish(tokens_from(1, 6), 0);
  EXPECT_DEATH(static_cast<void>(blocks.slot(0, 8)), "the position has a row");
  EXPECT_DEATH(blocks.publish(tokens_from(1, 5), 0), "a longer head");
  EXPECT_DEATH(blocks.publish(tokens_from(1, 9), 0), "a longer head");
  EXPECT_DEATH(blocks.clear(tokens_from(1, 5), 0), "what was published last");
  SequenceBlocks fork(kv);
  EXPECT_DEATH(fork.share(blocks, 7), "the other one has");
}

}  // namespace
}  // namespace kantha::cache
