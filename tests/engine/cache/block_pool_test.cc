#include "engine/cache/block_pool.h"

#include <gtest/gtest.h>

#include <numeric>

namespace kantha::cache {
namespace {

std::vector<TokenId> tokens_from(TokenId first, int count) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

/// Makes `held` findable as a row of `tokens` at the start.
void publish(BlockPool& pool, const BlockRef& held, const std::vector<TokenId>& tokens) {
  pool.attach(pool.node_for({.tokens = tokens}), 0, held);
}

TEST(BlockPool, HandsOutEveryBlockOnceAndThenNothing) {
  BlockPool pool({.block_count = 3, .block_size = 4});
  const auto a = pool.take();
  const auto b = pool.take();
  const auto c = pool.take();
  ASSERT_TRUE(a && b && c);
  EXPECT_NE(a->id(), b->id());
  EXPECT_NE(b->id(), c->id());
  EXPECT_NE(a->id(), c->id());
  EXPECT_FALSE(pool.take().has_value());
  EXPECT_EQ(pool.active(), 3);
  EXPECT_TRUE(pool.check_integrity().ok());
}

TEST(BlockPool, TheLastHolderGivesTheBlockBack) {
  BlockPool pool({.block_count = 1, .block_size = 4});
  std::optional<BlockRef> first = pool.take();
  std::optional<BlockRef> second = pool.share(*first);
  EXPECT_FALSE(pool.writable(*first));
  first.reset();
  EXPECT_EQ(pool.active(), 1);
  EXPECT_TRUE(pool.writable(*second));
  second.reset();
  EXPECT_EQ(pool.active(), 0);
}

TEST(BlockPool, FreeBlocksAreReusedBeforeCachedOnesAndCachedOnesOldestFirst) {
  BlockPool pool({.block_count = 4, .block_size = 2});
  std::vector<BlockRef> held;
  for (int i = 0; i < 4; ++i) held.push_back(*pool.take());
  const BlockId old_one = held[0].id();
  const BlockId young_one = held[1].id();
  const BlockId worthless = held[2].id();
  publish(pool, held[0], tokens_from(1, 2));
  publish(pool, held[1], tokens_from(5, 2));
  held[0].reset();
  held[1].reset();
  held[2].reset();
  EXPECT_EQ(pool.cached(), 2);
  EXPECT_EQ(pool.idle(), 3);
  const auto first = pool.take();
  const auto second = pool.take();
  EXPECT_EQ(first->id(), worthless);
  EXPECT_EQ(second->id(), old_one);
  EXPECT_FALSE(pool.tree().contains(old_one)) << "its content is forgotten";
  EXPECT_TRUE(pool.tree().contains(young_one));
  EXPECT_EQ(pool.cached(), 1);
  EXPECT_TRUE(pool.check_integrity().ok());
}

TEST(BlockPool, ATouchedBlockIsEvictedLast) {
  BlockPool pool({.block_count = 2, .block_size = 2});
  std::vector<BlockRef> held;
  for (int i = 0; i < 2; ++i) held.push_back(*pool.take());
  const BlockId old_one = held[0].id();
  const BlockId young_one = held[1].id();
  publish(pool, held[0], tokens_from(1, 2));
  publish(pool, held[1], tokens_from(5, 2));
  held[0].reset();
  held[1].reset();
  pool.touch(old_one);
  EXPECT_EQ(pool.take()->id(), young_one);
}

TEST(BlockPool, TokensAreCountedOncePerHeldBlock) {
  BlockPool pool({.block_count = 3, .block_size = 4});
  std::vector<BlockRef> held;
  for (int i = 0; i < 2; ++i) held.push_back(*pool.take());
  EXPECT_EQ(pool.tokens_used(), 0);
  pool.filled(held[0], 3);
  pool.filled(held[1], 4);
  pool.filled(held[1], 2);
  EXPECT_EQ(pool.tokens_used(), 7) << "a fill never falls";
  std::optional<BlockRef> again = pool.share(held[0]);
  EXPECT_EQ(pool.tokens_used(), 7) << "shared, counted once";
  publish(pool, held[1], tokens_from(1, 4));
  const BlockId known = held[1].id();
  held[1].reset();
  EXPECT_EQ(pool.tokens_used(), 3) << "cached tokens are not in use";
  const BlockRef hit = pool.adopt(known);
  EXPECT_EQ(pool.tokens_used(), 7) << "and they are again";
  held[0].reset();
  again.reset();
  EXPECT_EQ(pool.tokens_used(), 4);
  EXPECT_TRUE(pool.check_integrity().ok());
}

TEST(BlockPoolDeathTest, MisuseEndsTheProcess) {
  EXPECT_DEATH(BlockPool({.block_count = 0, .block_size = 4}), "a pool has blocks");
  EXPECT_DEATH(BlockPool({.block_count = 1, .block_size = 257}), "1 to 256 tokens");
  EXPECT_DEATH(BlockPool({.block_count = 1, .groups = {}}), "1 to 8 groups");
  EXPECT_DEATH(BlockPool({.block_count = 1, .hash_bits = 0}), "1 to 64 bits");
  BlockPool pool({.block_count = 2, .block_size = 4});
  BlockRef held = *pool.take();
  BlockRef moved = std::move(held);
  EXPECT_DEATH(static_cast<void>(held.id()), "use of a released block");  // NOLINT
  EXPECT_DEATH(pool.adopt(moved.id()), "only known blocks");
  const std::vector<TokenId> three = tokens_from(1, 3);
  EXPECT_DEATH(pool.node_for({.tokens = three}), "a whole row");
}

}  // namespace
}  // namespace kantha::cache
