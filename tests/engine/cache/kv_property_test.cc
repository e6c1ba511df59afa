#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include "tests/engine/cache/shadow_device.h"

/// Random use of the cache by many sequences, as a scheduler would, against a device that remembers
/// what was written where.
namespace kantha::cache {
namespace {

constexpr std::int32_t kChunkMax = 7;
constexpr std::int32_t kLengthMax = 48;

struct Open {
  explicit Open(KvCache& kv) : blocks(kv) {}

  SequenceBlocks blocks;
  std::vector<TokenId> tokens;
  std::uint64_t salt = 0;
  std::int32_t computed = 0;
  std::int32_t granted = 0;
  /// Shares a row of which the other one had computed more; until its next write the row counts
  /// that.
  bool shares_more = false;
};

KvCacheOptions random_options(std::mt19937_64& random) {
  const std::vector<KvGroup> groups[] = {{{}},
                                         {{}},
                                         {{}, {}},
                                         {{}, {.window = 5}},
                                         {{.window = 7}},
                                         {{.window = 1}, {}},
                                         {{.window = 3}, {.window = 9}},
                                         {{.window = 2}, {}, {.window = 16}}};
  KvCacheOptions options;
  options.groups = groups[random() % std::size(groups)];
  options.block_size = static_cast<std::int32_t>(1 + random() % 9);
  options.prefix_caching = random() % 8 != 0;
  options.hash_bits = random() % 4 == 0 ? 2 : 64;
  // One sequence fits; several compete.
  options.block_count = blocks_for(options, kLengthMax, kChunkMax);
  options.block_count += static_cast<std::int32_t>(random() % 40);
  return options;
}

class World {
 public:
  explicit World(std::uint64_t seed)
      : random_(seed), options_(random_options(random_)), kv_(options_), device_(options_) {}

  void step() {
    copies_.clear();
    for (auto acts = 1 + random_() % 5; acts > 0; --acts) {
      act();
      check();
      if (testing::Test::HasFatalFailure()) return;
    }
    for (const BlockCopy& copy : copies_) device_.copy(copy);
    for (const auto& open : open_) {
      device_.write(open->blocks, open->tokens, open->salt, open->computed,
                    open->computed + open->granted);
    }
    for (const auto& open : open_) commit(*open);
  }

  void close() {
    while (!open_.empty()) end(0);
    check();
    ASSERT_EQ(kv_.active(), 0);
  }

  std::int64_t found() const { return found_; }
  std::int64_t copied() const { return copied_; }

 private:
  void act() {
    const std::size_t pick = open_.empty() ? 0 : random_() % open_.size();
    switch (random_() % 8) {
      case 0:
      case 1: return start();
      case 2:
        if (!open_.empty()) fork(*open_[pick]);
        return;
      case 3:
        if (!open_.empty() && random_() % 2 == 0) end(pick);
        return;
      case 4:
        if (!open_.empty() && random_() % 2 == 0) preempt(*open_[pick]);
        return;
      default:
        if (!open_.empty()) grant(*open_[pick]);
    }
  }

  void start() {
    auto open = std::make_unique<Open>(kv_);
    open->salt = random_() % 2;
    for (auto n = 1 + random_() % 30; n > 0; --n) open->tokens.push_back(random_() % 2);
    find(*open);
    open_.push_back(std::move(open));
    grant(*open_.back());
  }

  void find(Open& open) {
    const bool whole = random_() % 4 == 0;
    const PrefixHit hit =
        whole ? kv_.find_whole(open.tokens, open.salt) : kv_.find(open.tokens, open.salt);
    ASSERT_LT(hit.tokens, std::ssize(open.tokens));
    if (hit.blocks_taken > kv_.idle()) return;
    const std::int32_t idle = kv_.idle();
    const std::size_t before = copies_.size();
    open.blocks.adopt(hit, copies_);
    ASSERT_EQ(idle - kv_.idle(), hit.blocks_taken);
    ASSERT_EQ(open.blocks.held(), hit.blocks_held);
    open.computed = hit.tokens;
    found_ += hit.tokens;
    copied_ += std::ssize(copies_) - static_cast<std::ptrdiff_t>(before);
  }

  void fork(const Open& of) {
    auto open = std::make_unique<Open>(kv_);
    open->salt = of.salt;
    open->tokens = of.tokens;
    const std::int32_t tokens = of.computed - static_cast<std::int32_t>(random_() % 3);
    if (tokens < 1 || !of.blocks.can_share(tokens)) return;
    open->blocks.share(of.blocks, tokens);
    open->computed = tokens;
    open->shares_more = tokens % options_.block_size != 0;
    open_.push_back(std::move(open));
  }

  void grant(Open& open) {
    if (open.granted > 0) return;
    if (open.computed == std::ssize(open.tokens)) open.tokens.push_back(random_() % 2);
    const auto missing = static_cast<std::int32_t>(open.tokens.size()) - open.computed;
    const auto chunk = static_cast<std::int32_t>(1 + random_() % kChunkMax);
    const std::int32_t end = std::min(open.computed + std::min(chunk, missing), kLengthMax);
    if (end <= open.computed) return;
    const std::int32_t needed = open.blocks.blocks_to_write(open.computed, end);
    const std::int32_t idle = kv_.idle();
    const bool done = open.blocks.prepare_write(open.computed, end, copies_);
    ASSERT_EQ(done, needed <= idle);
    ASSERT_LE(idle - kv_.idle(), done ? needed : 0) << "a copied block may become idle itself";
    if (!done) return;
    open.granted = end - open.computed;
    open.shares_more = false;
  }

  void give_back(Open& open) {
    const std::span<const TokenId> tokens(open.tokens);
    if (random_() % 4 == 0) {
      open.blocks.clear();
    } else {
      open.blocks.clear(tokens.first(static_cast<std::size_t>(open.computed)), open.salt);
    }
    open.granted = 0;
    open.computed = 0;
    open.shares_more = false;
    ASSERT_EQ(open.blocks.rows(), 0);
  }

  void end(std::size_t pick) {
    give_back(*open_[pick]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(pick));
  }

  /// Gives the blocks back in the middle of planning and finds them again, perhaps at once.
  void preempt(Open& open) {
    give_back(open);
    check();
    find(open);
  }

  void commit(Open& open) {
    if (open.granted == 0) return;
    const std::int32_t end = open.computed + open.granted;
    ASSERT_TRUE(device_.reads_right(open.blocks, open.tokens, open.salt, open.computed, end))
        << "tokens " << open.computed << " to " << end;
    open.computed = end;
    open.granted = 0;
    const std::span<const TokenId> tokens(open.tokens);
    open.blocks.publish(tokens.first(static_cast<std::size_t>(end)), open.salt);
    check();
  }

  void check() {
    const Status whole = kv_.check_integrity();
    ASSERT_TRUE(whole.ok()) << whole.error().message;
    std::vector<std::int32_t> holders(static_cast<std::size_t>(kv_.total()), 0);
    std::map<BlockId, std::int32_t> fills;
    bool shares_more = false;
    for (const auto& open : open_) {
      shares_more = shares_more || open->shares_more;
      const auto length = static_cast<std::int32_t>(open->tokens.size());
      ASSERT_LE(open->blocks.held(), blocks_for(options_, length, kChunkMax));
      for (std::int32_t g = 0; g < kv_.group_count(); ++g) {
        for (std::int32_t row = 0; row < open->blocks.rows(); ++row) {
          const BlockId block = open->blocks.block(g, row);
          if (block == kNoBlock) continue;
          ++holders[static_cast<std::size_t>(block)];
          const std::int32_t here =
              std::clamp(open->computed - row * options_.block_size, 0, options_.block_size);
          fills[block] = std::max(fills[block], here);
        }
      }
    }
    std::int64_t used = 0;
    for (const auto& [block, fill] : fills) used += fill;
    for (BlockId block = 0; block < kv_.total(); ++block) {
      ASSERT_EQ(kv_.pool().holders(block), holders[static_cast<std::size_t>(block)]);
    }
    const KvUsage usage = kv_.usage();
    ASSERT_EQ(usage.tokens_reserved, std::ssize(fills) * options_.block_size);
    if (shares_more) {
      ASSERT_GE(usage.tokens_used, used);
    } else {
      ASSERT_EQ(usage.tokens_used, used);
    }
  }

  std::mt19937_64 random_;
  KvCacheOptions options_;
  KvCache kv_;
  ShadowDevice device_;
  std::vector<std::unique_ptr<Open>> open_;
  std::vector<BlockCopy> copies_;
  std::int64_t found_ = 0;
  std::int64_t copied_ = 0;
};

TEST(KvProperty, EveryReadFindsWhatItsTokensAskFor) {
  std::int64_t found = 0;
  std::int64_t copied = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    for (int step = 0; step < 40 && !HasFatalFailure(); ++step) world.step();
    if (HasFatalFailure()) return;
    world.close();
    if (HasFatalFailure()) return;
    found += world.found();
    copied += world.copied();
  }
  EXPECT_GT(found, 100'000) << "prefixes are found all the time";
  EXPECT_GT(copied, 10'000) << "and parts of rows";
}

}  // namespace
}  // namespace kantha::cache
