#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/exec/forward.h"

/// Forwards without a model, for tests of everything around them.
namespace kantha::fake {

struct FakeForwardOptions {
  exec::KvShape kv;
  std::vector<cache::KvGroup> groups = {cache::KvGroup{}};
  std::int32_t vocabulary = 64;
  std::int32_t rows_max = 512;
  std::int32_t logit_rows_max = 64;
  /// Gives the next token for a history; needs a group without a window. Empty: logits are a hash
  /// of the history.
  std::function<TokenId(std::span<const TokenId> history)> next = {};
};

/// A Forward that behaves as a real one towards its paged cache. Every KV slot keeps the token and
/// position written to it and a hash of all tokens up to it, which is computed from the slot before
/// it as found through the block table. A row's logits are a hash of what its whole block table
/// reads back: a wrong slot, block, position, table or forgotten copy gives other tokens, and a
/// position that does not match, or a row outside its sequence's blocks, CHECKs.
///
/// The history is read in the first group without a window, or else in the one with the longest.
/// In each other group every row CHECKs that its whole window is there and is of that history.
class FakeForward final : public exec::Forward {
 public:
  explicit FakeForward(FakeForwardOptions options);

  void run(const exec::Batch& batch, std::span<float> logits) override;
  /// A row's state is its token and its position.
  void run_with_notes(const exec::Batch& batch, std::span<float> logits,
                      const exec::LogitNotes& notes) override;
  std::int32_t hidden_size() const override { return 2; }
  void copy_block(BlockId from, BlockId to) override;
  std::span<const cache::KvGroup> groups() const override { return options_.groups; }
  std::int32_t vocabulary_size() const override { return options_.vocabulary; }
  std::int32_t rows_max() const override { return options_.rows_max; }
  std::int32_t logit_rows_max() const override { return options_.logit_rows_max; }

 private:
  struct Slot {
    TokenId token = -1;
    std::int32_t position = -1;
    std::int32_t group = -1;
    std::uint64_t hash = 0;
  };

  Slot& slot_of(std::span<const BlockId> table, std::int32_t position);
  void check_shapes(const exec::Batch& batch, std::size_t logit_count) const;
  void write_row(const exec::Batch& batch, std::size_t sequence, std::size_t row);
  void check_window(const exec::Batch& batch, std::size_t sequence, std::size_t row,
                    std::int32_t group);
  std::uint64_t read_history(std::span<const BlockId> table, std::int32_t position);
  void read_row(std::span<const BlockId> table, std::int32_t position, std::span<float> logits);

  FakeForwardOptions options_;
  std::int32_t anchor_ = 0;  ///< the group that the history is read in
  std::vector<Slot> slots_;
  std::vector<TokenId> history_;
};

/// The reply of a parrot: whatever the prompt (of `prompt_tokens` tokens), output token i is
/// reply[i mod size].
std::function<TokenId(std::span<const TokenId>)> parrot(std::size_t prompt_tokens,
                                                        std::vector<TokenId> reply);

}  // namespace kantha::fake
