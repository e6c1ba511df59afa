#include "engine/cache/kv_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "engine/cache/sequence_blocks.h"

/// What is found again, and what never is.
namespace kantha::cache {
namespace {

std::vector<TokenId> tokens_from(TokenId first, int count) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

/// `head`, then `rest`.
std::vector<TokenId> joined(std::vector<TokenId> head, const std::vector<TokenId>& rest) {
  head.insert(head.end(), rest.begin(), rest.end());
  return head;
}

/// Computes `tokens` in a sequence of its own and ends it as `trusted` says.
void run(KvCache& kv, const std::vector<TokenId>& tokens, std::uint64_t salt = 0,
         bool trusted = true) {
  SequenceBlocks blocks(kv);
  std::vector<BlockCopy> copies;
  const PrefixHit hit = kv.find(tokens, salt);
  blocks.adopt(hit, copies);
  ASSERT_TRUE(blocks.prepare_write(hit.tokens, static_cast<std::int32_t>(tokens.size()), copies));
  blocks.publish(tokens, salt);
  if (trusted) {
    blocks.clear(tokens, salt);
  } else {
    blocks.clear();
  }
  ASSERT_TRUE(kv.check_integrity().ok()) << kv.check_integrity().error().message;
}

TEST(KvCache, FindsWholeRowsAndThenThePartOfOneMore) {
  KvCache kv({.block_count = 16, .block_size = 8});
  run(kv, tokens_from(1, 20), 7);  // two rows and a leaf of 4
  struct Case {
    const char* name;
    std::vector<TokenId> tokens;
    std::uint64_t salt;
    std::int32_t found;
    std::int32_t whole;
  };
  std::vector<TokenId> changed_late = tokens_from(1, 30);
  changed_late[11] = 99;
  std::vector<TokenId> changed_first = tokens_from(1, 30);
  changed_first[0] = 99;
  const Case cases[] = {
      {"a longer prompt finds the tail too", tokens_from(1, 30), 7, 20, 16},
      {"the same tokens leave one to compute", tokens_from(1, 20), 7, 19, 16},
      {"a shorter one takes a part of the tail", tokens_from(1, 19), 7, 18, 16},
      {"one that ends with a row computes its last token again", tokens_from(1, 16), 7, 15, 8},
      {"one token more than a row needs no part", tokens_from(1, 17), 7, 16, 16},
      {"a change within a row leaves its head", changed_late, 7, 11, 8},
      {"a change at the start leaves nothing", changed_first, 7, 0, 0},
      {"equal tokens at another position are another content", tokens_from(9, 12), 7, 0, 0},
      {"another salt sees neither rows nor parts", tokens_from(1, 30), 8, 0, 0},
      {"one token", tokens_from(1, 1), 7, 0, 0},
      {"two tokens", tokens_from(1, 2), 7, 1, 0},
  };
  for (const Case& c : cases) {
    const PrefixHit hit = kv.find(c.tokens, c.salt);
    EXPECT_EQ(hit.tokens, c.found) << c.name;
    EXPECT_EQ(hit.partial != kNoNode, c.found % 8 != 0) << c.name;
    EXPECT_EQ(hit.blocks_held, (c.found + 7) / 8) << c.name;
    EXPECT_EQ(hit.blocks_taken, (c.found + 7) / 8) << c.name << ": all are idle";
    EXPECT_EQ(kv.find_whole(c.tokens, c.salt).tokens, c.whole) << c.name;
  }
}

TEST(KvCache, APartMustBeWorthACopy) {
  for (const std::int32_t block_size : {1, 2, 4, 8, 16, 32, 256}) {
    SCOPED_TRACE(block_size);
    KvCache kv({.block_count = 8, .block_size = block_size});
    run(kv, tokens_from(1, block_size));
    const std::int32_t least = part_tokens_min(block_size);
    for (std::int32_t common = 1; common < block_size; ++common) {
      std::vector<TokenId> tokens = tokens_from(1, block_size + 1);
      tokens[static_cast<std::size_t>(common)] = 999;
      EXPECT_EQ(kv.find(tokens, 0).tokens, common >= least ? common : 0) << common;
    }
  }
}

TEST(KvCache, TheLongestPartWinsWhateverCameLast) {
  KvCache kv({.block_count = 16, .block_size = 8});
  const std::vector<TokenId> head = tokens_from(1, 8);
  run(kv, joined(head, {11, 12, 13, 14, 15}));
  run(kv, joined(head, {11, 12, 13, 24, 25, 26, 27, 28}));
  run(kv, joined(head, {11, 12, 33}));
  EXPECT_EQ(kv.find(joined(head, {11, 12, 13, 14, 99}), 0).tokens, 12);
  EXPECT_EQ(kv.find(joined(head, {11, 12, 13, 24, 99}), 0).tokens, 12);
  EXPECT_EQ(kv.find(joined(head, {11, 12, 33, 99}), 0).tokens, 11);
  EXPECT_EQ(kv.find(joined(head, {11, 12, 99}), 0).tokens, 10);
}

TEST(KvCache, ALongerTailReplacesAShorterOneAndNotTheOtherWayRound) {
  KvCache kv({.block_count = 16, .block_size = 8});
  const std::vector<TokenId> tokens = tokens_from(1, 16);
  const auto head = [&](std::size_t count) {
    return std::vector<TokenId>(tokens.begin(),
                                tokens.begin() + static_cast<std::ptrdiff_t>(count));
  };
  run(kv, head(10));
  EXPECT_EQ(kv.cached(), 2);
  run(kv, head(13));
  EXPECT_EQ(kv.cached(), 2) << "the leaf of 2 made way for that of 5";
  run(kv, head(11));
  EXPECT_EQ(kv.cached(), 2) << "a leaf of 3 would say nothing new";
  EXPECT_EQ(kv.find(joined(head(13), {99}), 0).tokens, 13);
  run(kv, head(16));
  EXPECT_EQ(kv.cached(), 2) << "nor would any leaf beside the whole row";
  EXPECT_EQ(kv.find(joined(head(16), {99}), 0).tokens, 16);
  run(kv, head(14));
  EXPECT_EQ(kv.cached(), 2);
  run(kv, joined(head(10), {98, 97}));
  EXPECT_EQ(kv.cached(), 3) << "another end is another leaf";
}

TEST(KvCache, ASequenceThatIsNotTrustedLeavesNoTail) {
  KvCache kv({.block_count = 16, .block_size = 8});
  run(kv, tokens_from(1, 13), 0, /*trusted=*/false);
  EXPECT_EQ(kv.cached(), 1);
  EXPECT_EQ(kv.find(tokens_from(1, 20), 0).tokens, 8);
}

TEST(KvCache, WithoutPrefixCachingNothingIsFoundAndEverythingIsCounted) {
  KvCache kv({.block_count = 16, .block_size = 8, .prefix_caching = false});
  SequenceBlocks blocks(kv);
  std::vector<BlockCopy> copies;
  const std::vector<TokenId> tokens = tokens_from(1, 20);
  ASSERT_TRUE(blocks.prepare_write(0, 20, copies));
  blocks.publish(std::span(tokens).first(13), 0);
  EXPECT_EQ(kv.usage().tokens_reserved, 24);
  EXPECT_EQ(kv.usage().tokens_used, 13);
  blocks.clear(std::span(tokens).first(13), 0);
  EXPECT_EQ(kv.cached(), 0);
  EXPECT_EQ(kv.find(tokens, 0).tokens, 0);
  EXPECT_EQ(kv.usage().tokens_used, 0);
  EXPECT_TRUE(kv.check_integrity().ok());
}

TEST(KvCache, TailsAreEvictedBeforeTheirHeads) {
  KvCache kv({.block_count = 3, .block_size = 4});
  const std::vector<TokenId> tokens = tokens_from(1, 11);  // two rows and a leaf
  run(kv, tokens);
  EXPECT_EQ(kv.cached(), 3);
  SequenceBlocks other(kv);
  std::vector<BlockCopy> copies;
  const std::int32_t left[] = {8, 4, 0};
  for (std::int32_t taken = 0; taken < 3; ++taken) {
    ASSERT_TRUE(other.prepare_write(4 * taken, 4 * taken + 1, copies));
    EXPECT_EQ(kv.find(joined(tokens, {99}), 0).tokens, left[taken]);
    EXPECT_TRUE(kv.check_integrity().ok());
  }
}

TEST(KvCache, APartCopiesEvenItsOwnSourceWhenNothingElseIsLeft) {
  KvCache kv({.block_count = 2, .block_size = 8});
  const std::vector<TokenId> tokens = tokens_from(1, 14);
  run(kv, tokens);
  const std::vector<TokenId> longer = joined(tokens, {99});
  const PrefixHit hit = kv.find(longer, 0);
  EXPECT_EQ(hit.tokens, 14);
  EXPECT_EQ(hit.blocks_taken, 2);
  SequenceBlocks next(kv);
  std::vector<BlockCopy> copies;
  next.adopt(hit, copies);
  EXPECT_TRUE(copies.empty()) << "the leaf's own block goes on as it is";
  EXPECT_EQ(kv.idle(), 0);
  EXPECT_TRUE(kv.check_integrity().ok());
}

TEST(KvCache, TheSourceOfAPartOutlivesWhatIsOlder) {
  KvCache kv({.block_count = 3, .block_size = 8});
  run(kv, tokens_from(1, 14));   // older: a row and a leaf
  run(kv, tokens_from(101, 8));  // younger
  SequenceBlocks next(kv);
  std::vector<BlockCopy> copies;
  const std::vector<TokenId> longer = joined(tokens_from(1, 14), {99});
  next.adopt(kv.find(longer, 0), copies);
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(kv.find(longer, 0).tokens, 14) << "the leaf is still there for the next one";
  EXPECT_EQ(kv.find(tokens_from(101, 9), 0).tokens, 0);
}

/// A hash of 8 bits makes most look-ups collide. What is found must still be right.
TEST(KvCache, AHashThatCollidesNeverGivesAWrongHit) {
  std::int32_t found = 0;
  std::vector<std::vector<std::int32_t>> hits;
  for (const std::int32_t bits : {8, 64}) {
    KvCache kv({.block_count = 4096, .block_size = 4, .hash_bits = bits});
    std::mt19937_64 random(3);
    // What each block holds, as the tokens of its whole prefix.
    std::vector<std::vector<TokenId>> content(4096);
    std::vector<std::int32_t>& own_hits = hits.emplace_back();
    for (int prompt = 0; prompt < 2000; ++prompt) {
      std::vector<TokenId> tokens(1 + random() % 24);
      for (TokenId& token : tokens) token = static_cast<TokenId>(random() % 3);
      const std::uint64_t salt = random() % 3;
      const auto keyed = [&](std::size_t count) {
        std::vector<TokenId> head(tokens.begin(),
                                  tokens.begin() + static_cast<std::ptrdiff_t>(count));
        head.insert(head.begin(), static_cast<TokenId>(salt));
        return head;
      };
      const PrefixHit hit = kv.find(tokens, salt);
      own_hits.push_back(hit.tokens);
      found += hit.tokens;
      const PrefixTree& tree = kv.pool().tree();
      NodeId node = hit.node;
      for (std::int32_t row = hit.rows; row-- > 0; node = tree.parent(node)) {
        const auto& held = content[static_cast<std::size_t>(tree.block(node, 0))];
        ASSERT_EQ(held, keyed(static_cast<std::size_t>(row + 1) * 4)) << prompt;
      }
      if (hit.partial != kNoNode) {
        const auto& held = content[static_cast<std::size_t>(tree.block(hit.partial, 0))];
        const std::vector<TokenId> wanted = keyed(static_cast<std::size_t>(hit.tokens));
        ASSERT_GE(held.size(), wanted.size()) << prompt;
        ASSERT_TRUE(std::equal(wanted.begin(), wanted.end(), held.begin())) << prompt;
      }
      SequenceBlocks blocks(kv);
      std::vector<BlockCopy> copies;
      blocks.adopt(hit, copies);
      ASSERT_TRUE(
          blocks.prepare_write(hit.tokens, static_cast<std::int32_t>(tokens.size()), copies));
      for (std::int32_t row = hit.rows; row < blocks.rows(); ++row) {
        const std::size_t end = std::min(tokens.size(), (static_cast<std::size_t>(row) + 1) * 4);
        content[static_cast<std::size_t>(blocks.block(0, row))] = keyed(end);
      }
      blocks.publish(tokens, salt);
      blocks.clear(tokens, salt);
    }
    EXPECT_TRUE(kv.check_integrity().ok());
  }
  EXPECT_GT(found, 2000) << "the prompts have heads in common";
  // Parts are looked for among few candidates, of which collisions take places.
  for (std::size_t i = 0; i < hits[0].size(); ++i) {
    EXPECT_EQ(hits[0][i] / 4, hits[1][i] / 4) << "whole rows are found all the same: prompt " << i;
  }
}

}  // namespace
}  // namespace kantha::cache
