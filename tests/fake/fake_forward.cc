#include "tests/fake/fake_forward.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/rng.h"

namespace kantha::fake {

FakeForward::FakeForward(FakeForwardOptions options)
    : options_(std::move(options)),
      slots_(static_cast<std::size_t>(options_.kv.block_count) *
             static_cast<std::size_t>(options_.kv.block_size)) {}

FakeForward::Slot& FakeForward::slot_of(std::span<const BlockId> table, std::int32_t position) {
  const std::int32_t block = table[static_cast<std::size_t>(position / options_.kv.block_size)];
  CHECK(block >= 0 && block < options_.kv.block_count, "a block of the pool");
  return slots_[static_cast<std::size_t>(block * options_.kv.block_size +
                                         position % options_.kv.block_size)];
}

void FakeForward::write_row(std::span<const BlockId> table, TokenId token, std::int32_t position,
                            std::int32_t slot) {
  CHECK(token >= 0 && token < options_.vocabulary, "a token of the vocabulary");
  Slot& target = slots_.at(static_cast<std::size_t>(slot));
  CHECK(&target == &slot_of(table, position), "the slot is where the table looks for it");
  const std::uint64_t before = position == 0 ? 1 : slot_of(table, position - 1).hash;
  target = {.token = token,
            .position = position,
            .hash = random_bits(before, static_cast<std::uint64_t>(token) + 7)};
}

void FakeForward::read_row(std::span<const BlockId> table, std::int32_t position,
                           std::span<float> logits) {
  history_.clear();
  std::uint64_t hash = 1;
  for (std::int32_t p = 0; p <= position; ++p) {
    const Slot& slot = slot_of(table, p);
    CHECK(slot.position == p, "the slot holds the position that is looked for");
    hash = random_bits(hash, static_cast<std::uint64_t>(slot.token) + 7);
    CHECK(slot.hash == hash, "the slot was computed from this history");
    history_.push_back(slot.token);
  }
  for (std::size_t token = 0; token < logits.size(); ++token) {
    logits[token] = static_cast<float>(random_unit(hash, token)) * 8 - 4;
  }
  if (options_.next) logits[static_cast<std::size_t>(options_.next(history_))] = 100;
}

void FakeForward::run(const exec::Batch& batch, std::span<float> logits) {
  const std::size_t rows = batch.token_ids.size();
  const std::size_t sequences = batch.row_starts.size() - 1;
  const auto stride = static_cast<std::size_t>(batch.block_table_stride);
  const auto vocabulary = static_cast<std::size_t>(options_.vocabulary);
  CHECK(rows >= 1 && rows <= static_cast<std::size_t>(options_.rows_max), "T fits");
  CHECK(batch.positions.size() == rows && batch.slots.size() == rows, "[T]");
  CHECK(batch.row_starts[0] == 0 && static_cast<std::size_t>(batch.row_starts.back()) == rows);
  CHECK(batch.block_tables.size() == sequences * stride, "[B, P]");
  CHECK(logits.size() == batch.logit_rows.size() * vocabulary, "[S, vocabulary]");
  CHECK(std::ranges::is_sorted(batch.logit_rows), "rising");
  // As in a model, the whole batch is written before anything is read.
  for (std::size_t b = 0; b < sequences; ++b) {
    const auto table = batch.block_tables.subspan(b * stride, stride);
    for (std::int32_t r = batch.row_starts[b]; r < batch.row_starts[b + 1]; ++r) {
      const auto row = static_cast<std::size_t>(r);
      write_row(table, batch.token_ids[row], batch.positions[row], batch.slots[row]);
    }
  }
  std::size_t sequence = 0;
  for (std::size_t s = 0; s < batch.logit_rows.size(); ++s) {
    const std::int32_t row = batch.logit_rows[s];
    while (batch.row_starts[sequence + 1] <= row) ++sequence;
    read_row(batch.block_tables.subspan(sequence * stride, stride),
             batch.positions[static_cast<std::size_t>(row)],
             logits.subspan(s * vocabulary, vocabulary));
  }
}

void FakeForward::copy_block(BlockId from, BlockId to) {
  CHECK(from != to, "a copy has two ends");
  const std::int32_t size = options_.kv.block_size;
  std::copy_n(slots_.begin() + from * size, size, slots_.begin() + to * size);
}

std::function<TokenId(std::span<const TokenId>)> parrot(std::size_t prompt_tokens,
                                                        std::vector<TokenId> reply) {
  return [prompt_tokens, reply = std::move(reply)](std::span<const TokenId> history) {
    CHECK(history.size() >= prompt_tokens, "logits are asked for after the prompt");
    return reply[(history.size() - prompt_tokens) % reply.size()];
  };
}

}  // namespace kantha::fake
