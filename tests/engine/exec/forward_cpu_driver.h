#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "engine/exec/forward_factory.h"

namespace kantha::exec {

/// One sequence of a test: its tokens, its blocks, how far it is computed and what came out.
struct TestSequence {
  std::vector<TokenId> tokens;
  std::vector<BlockId> blocks;
  std::int32_t computed = 0;
  std::vector<float> logits;  ///< [computed, vocabulary]
};

inline std::vector<TokenId> random_tokens(std::int32_t count, std::int32_t vocabulary,
                                          std::uint64_t seed) {
  std::vector<TokenId> tokens;
  for (std::int32_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<TokenId>(random_bits(seed, static_cast<std::uint64_t>(i)) %
                                          static_cast<std::uint64_t>(vocabulary)));
  }
  return tokens;
}

/// Feeds sequences to a Forward in pieces and keeps the logits of every row.
class ForwardDriver {
 public:
  ForwardDriver(const model::LlamaModel& model, const ForwardOptions& options)
      : ForwardDriver(make_forward_cpu(model, options).value(), options) {}

  ForwardDriver(std::unique_ptr<Forward> forward, const ForwardOptions& options)
      : options_(options), forward_(std::move(forward)) {
    for (BlockId id = 0; id < options.kv.block_count; ++id) free_.push_back(id);
  }

  /// Takes blocks in a random order from here on.
  void shuffle_blocks(std::uint64_t seed) {
    for (std::size_t i = free_.size(); i > 1; --i) {
      std::swap(free_[i - 1], free_[random_bits(seed, i) % i]);
    }
  }

  TestSequence sequence(std::vector<TokenId> tokens) {
    TestSequence result{std::move(tokens), {}, 0, {}};
    for (std::size_t i = 0; i < result.tokens.size();
         i += static_cast<std::size_t>(options_.kv.block_size)) {
      result.blocks.push_back(free_.back());
      free_.pop_back();
    }
    return result;
  }

  /// One step: the next `count` tokens of each sequence, in this order.
  void step(const std::vector<std::pair<TestSequence*, std::int32_t>>& pieces) {
    std::vector<TokenId> tokens;
    std::vector<std::int32_t> positions, slots, starts{0}, rows;
    std::size_t stride = 1;
    for (const auto& [s, count] : pieces) stride = std::max(stride, s->blocks.size());
    std::vector<BlockId> tables(pieces.size() * stride, -1);
    for (std::size_t b = 0; b < pieces.size(); ++b) {
      const auto& [s, count] = pieces[b];
      std::copy(s->blocks.begin(), s->blocks.end(),
                tables.begin() + static_cast<std::ptrdiff_t>(b * stride));
      for (std::int32_t i = s->computed; i < s->computed + count; ++i) {
        rows.push_back(static_cast<std::int32_t>(tokens.size()));
        tokens.push_back(s->tokens[static_cast<std::size_t>(i)]);
        positions.push_back(i);
        slots.push_back(s->blocks[static_cast<std::size_t>(i / options_.kv.block_size)] *
                            options_.kv.block_size +
                        i % options_.kv.block_size);
      }
      starts.push_back(static_cast<std::int32_t>(tokens.size()));
    }
    const auto vocabulary = static_cast<std::size_t>(forward_->vocabulary_size());
    std::vector<float> logits(rows.size() * vocabulary);
    forward_->run(
        {tokens, positions, slots, starts, tables, static_cast<std::int32_t>(stride), rows},
        logits);
    auto from = logits.begin();
    for (const auto& [s, count] : pieces) {
      const auto end =
          from + static_cast<std::ptrdiff_t>(count * static_cast<std::int32_t>(vocabulary));
      s->logits.insert(s->logits.end(), from, end);
      s->computed += count;
      from = end;
    }
  }

  /// The whole sequence, `chunk` tokens a step.
  void finish(TestSequence& s, std::int32_t chunk) {
    while (s.computed < static_cast<std::int32_t>(s.tokens.size())) {
      step({{&s, std::min(chunk, static_cast<std::int32_t>(s.tokens.size()) - s.computed)}});
    }
  }

  Forward& forward() { return *forward_; }

 private:
  ForwardOptions options_;
  std::unique_ptr<Forward> forward_;
  std::vector<BlockId> free_;
};

}  // namespace kantha::exec
