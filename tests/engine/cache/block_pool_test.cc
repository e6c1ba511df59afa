#include "engine/cache/block_pool.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/cache/block_table.h"

namespace kantha::cache {
namespace {

std::vector<TokenId> tokens_from(TokenId first, int count) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(first + i);
  return tokens;
}

TEST(BlockPool, HandsOutEveryBlockOnceAndThenNothing) {
  BlockPool pool(3, 4);
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
  BlockPool pool(1, 4);
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
  BlockPool pool(4, 2);
  std::vector<BlockRef> held;
  for (int i = 0; i < 4; ++i) held.push_back(*pool.take());
  const BlockId old_one = held[0].id();
  const BlockId young_one = held[1].id();
  const BlockId worthless = held[2].id();
  pool.publish(held[0], {.tokens = tokens_from(1, 2)});
  pool.publish(held[1], {.tokens = tokens_from(5, 2)});
  held[0].reset();
  held[1].reset();
  held[2].reset();
  EXPECT_EQ(pool.cached(), 2);
  EXPECT_EQ(pool.idle(), 3);
  const auto first = pool.take();
  const auto second = pool.take();
  EXPECT_EQ(first->id(), worthless);
  EXPECT_EQ(second->id(), old_one);
  EXPECT_FALSE(pool.prefixes().contains(old_one)) << "its content is forgotten";
  EXPECT_TRUE(pool.prefixes().contains(young_one));
  EXPECT_EQ(pool.cached(), 1);
  EXPECT_TRUE(pool.check_integrity().ok());
}

TEST(BlockPool, AHitTakesACachedBlockOutOfTheMiddleOfTheList) {
  BlockPool pool(3, 2);
  BlockTable table(pool);
  std::vector<BlockCopy> copies;
  const std::vector<TokenId> tokens = tokens_from(1, 6);
  ASSERT_TRUE(table.prepare_write(0, 6, copies));
  table.publish(tokens, 0, 0);
  const BlockId head = table.block(0);
  table.clear();
  EXPECT_EQ(pool.match(tokens, 0).idle, 3);
  const BlockRef hit = pool.adopt(head);
  EXPECT_EQ(pool.match(tokens, 0).idle, 2);
  EXPECT_EQ(pool.match(tokens, 0).blocks.size(), 3U);
  EXPECT_TRUE(pool.check_integrity().ok());
}

TEST(BlockPool, TailsAreEvictedBeforeTheirHeads) {
  BlockPool pool(3, 2);
  BlockTable table(pool);
  std::vector<BlockCopy> copies;
  const std::vector<TokenId> tokens = tokens_from(1, 6);
  ASSERT_TRUE(table.prepare_write(0, 6, copies));
  table.publish(tokens, 0, 0);
  table.clear();
  std::vector<BlockRef> taken;
  for (std::size_t left = 3; left-- > 0;) {
    taken.push_back(*pool.take());
    EXPECT_EQ(pool.match(tokens, 0).blocks.size(), left);
    EXPECT_TRUE(pool.check_integrity().ok());
  }
}

TEST(BlockPool, MatchStopsAtTheFirstMissAndAtPartialBlocks) {
  BlockPool pool(8, 4);
  BlockTable table(pool);
  std::vector<BlockCopy> copies;
  const std::vector<TokenId> tokens = tokens_from(1, 12);
  ASSERT_TRUE(table.prepare_write(0, 12, copies));
  table.publish(tokens, 0, 7);
  struct Case {
    const char* name;
    std::vector<TokenId> tokens;
    std::uint64_t salt;
    std::size_t blocks;
  };
  std::vector<TokenId> differs_late = tokens;
  differs_late[9] = 99;
  std::vector<TokenId> shifted(tokens.begin() + 4, tokens.end());
  const Case cases[] = {
      {"the same tokens", tokens, 7, 3},
      {"a partial last block does not count", tokens_from(1, 11), 7, 2},
      {"a difference ends the match", differs_late, 7, 2},
      {"equal tokens at another position are another content", shifted, 7, 0},
      {"another salt sees nothing", tokens, 8, 0},
      {"no tokens", {}, 7, 0},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(pool.match(c.tokens, c.salt).blocks.size(), c.blocks) << c.name;
  }
}

TEST(BlockPoolDeathTest, MisuseEndsTheProcess) {
  EXPECT_DEATH(BlockPool(0, 4), "a pool has blocks");
  EXPECT_DEATH(BlockPool(1, 257), "1 to 256 tokens");
  BlockPool pool(2, 4);
  BlockRef held = *pool.take();
  BlockRef moved = std::move(held);
  EXPECT_DEATH(static_cast<void>(held.id()), "use of a released block");  // NOLINT
  EXPECT_DEATH(pool.adopt(moved.id()), "only indexed blocks");
  EXPECT_DEATH(pool.publish(moved, {.tokens = tokens_from(1, 3)}), "only full blocks");
}

TEST(BlockTable, ForkSharesAndAWriteCopiesOnlyTheBlockWrittenTo) {
  BlockPool pool(8, 4);
  BlockTable original(pool);
  std::vector<BlockCopy> copies;
  ASSERT_TRUE(original.prepare_write(0, 6, copies));
  BlockTable fork = original.fork();
  EXPECT_EQ(pool.active(), 2);
  EXPECT_EQ(fork.blocks_to_write(6, 7), 1);
  EXPECT_EQ(fork.blocks_to_write(6, 9), 2);
  ASSERT_TRUE(fork.prepare_write(6, 9, copies));
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].from, original.block(1));
  EXPECT_EQ(copies[0].to, fork.block(1));
  EXPECT_EQ(fork.block(0), original.block(0));
  EXPECT_NE(fork.block(1), original.block(1));
  EXPECT_EQ(fork.size(), 3);
  copies.clear();
  ASSERT_TRUE(original.prepare_write(6, 8, copies)) << "the last holder writes in place";
  EXPECT_TRUE(copies.empty());
  EXPECT_TRUE(pool.check_integrity().ok());
}

TEST(BlockTable, PrepareWriteIsAllOrNothing) {
  BlockPool pool(3, 4);
  BlockTable table(pool);
  std::vector<BlockCopy> copies;
  ASSERT_TRUE(table.prepare_write(0, 5, copies));
  EXPECT_FALSE(table.prepare_write(5, 13, copies));
  EXPECT_EQ(table.size(), 2);
  EXPECT_EQ(pool.idle(), 1);
  EXPECT_TRUE(table.prepare_write(5, 12, copies));
  EXPECT_EQ(table.slot(9), table.block(2) * 4 + 1);
}

TEST(BlockTable, EqualContentIsKeptOnce) {
  BlockPool pool(8, 2);
  const std::vector<TokenId> tokens = tokens_from(1, 4);
  std::vector<BlockCopy> copies;
  BlockTable first(pool);
  BlockTable second(pool);
  ASSERT_TRUE(first.prepare_write(0, 4, copies));
  ASSERT_TRUE(second.prepare_write(0, 4, copies));
  EXPECT_EQ(pool.active(), 4);
  first.publish(tokens, 0, 0);
  second.publish(tokens, 0, 0);
  EXPECT_EQ(pool.active(), 2);
  EXPECT_EQ(first.block(1), second.block(1));
  first.clear();
  EXPECT_EQ(pool.active(), 2) << "the other one still holds them";
  EXPECT_TRUE(pool.check_integrity().ok());
}

TEST(BlockTable, RandomUseKeepsThePoolWhole) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto block_size = static_cast<std::int32_t>(1 + random() % 5);
    BlockPool pool(static_cast<std::int32_t>(4 + random() % 20), block_size);
    std::vector<BlockCopy> copies;
    struct Open {
      BlockTable table;
      std::vector<TokenId> tokens;
    };
    std::vector<Open> open;
    for (int act = 0; act < 200; ++act) {
      const std::size_t pick = open.empty() ? 0 : random() % open.size();
      switch (random() % 4) {
        case 0: {  // start with what is cached, then compute the rest
          std::vector<TokenId> tokens;
          for (auto n = 1 + random() % 12; n > 0; --n) tokens.push_back(random() % 2);
          BlockTable table(pool);
          const PrefixMatch match = pool.match(tokens, 0);
          for (const BlockId block : match.blocks) table.adopt(block);
          const auto found = static_cast<std::int32_t>(match.blocks.size()) * block_size;
          const auto end = static_cast<std::int32_t>(tokens.size());
          if (found < end && !table.prepare_write(found, end, copies)) break;
          table.publish(tokens, static_cast<std::int32_t>(match.blocks.size()), 0);
          open.push_back({std::move(table), std::move(tokens)});
          break;
        }
        case 1:  // grow by one
          if (open.empty()) break;
          {
            Open& it = open[pick];
            const auto at = static_cast<std::int32_t>(it.tokens.size());
            if (!it.table.prepare_write(at, at + 1, copies)) break;
            it.tokens.push_back(random() % 2);
            it.table.publish(it.tokens, at / block_size, 0);
          }
          break;
        case 2:
          if (!open.empty()) open.push_back({open[pick].table.fork(), open[pick].tokens});
          break;
        default:
          if (!open.empty()) open.erase(open.begin() + static_cast<std::ptrdiff_t>(pick));
      }
      const Status whole = pool.check_integrity();
      ASSERT_TRUE(whole.ok()) << whole.error().message;
    }
    open.clear();
    ASSERT_EQ(pool.active(), 0);
  }
}

}  // namespace
}  // namespace kantha::cache
