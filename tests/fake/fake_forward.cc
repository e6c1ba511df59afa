#include "tests/fake/fake_forward.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/rng.h"

namespace kantha::fake {

FakeForward::FakeForward(FakeForwardOptions options)
    : options_(std::move(options)),
      slots_(static_cast<std::size_t>(options_.kv.block_count) *
             static_cast<std::size_t>(options_.kv.block_size)) {
  const auto reach = [&](std::int32_t group) {
    const std::int32_t window = options_.groups[static_cast<std::size_t>(group)].window;
    return window == 0 ? std::numeric_limits<std::int32_t>::max() : window;
  };
  for (std::int32_t group = 1; group < std::ssize(options_.groups); ++group) {
    if (reach(group) > reach(anchor_)) anchor_ = group;
  }
  CHECK(reach(anchor_) >= 2, "a row finds the one before it");
  CHECK(!options_.next || options_.groups[static_cast<std::size_t>(anchor_)].window == 0);
}

FakeForward::Slot& FakeForward::slot_of(std::span<const BlockId> table, std::int32_t position) {
  const std::int32_t block = table[static_cast<std::size_t>(position / options_.kv.block_size)];
  CHECK(block >= 0 && block < options_.kv.block_count, "a block of the pool");
  return slots_[static_cast<std::size_t>(block * options_.kv.block_size +
                                         position % options_.kv.block_size)];
}

void FakeForward::write_row(const exec::Batch& batch, std::size_t sequence, std::size_t row) {
  const TokenId token = batch.token_ids[row];
  const std::int32_t position = batch.positions[row];
  CHECK(token >= 0 && token < options_.vocabulary, "a token of the vocabulary");
  const auto anchor = batch.table(anchor_, sequence);
  const std::uint64_t before = position == 0 ? 1 : slot_of(anchor, position - 1).hash;
  for (std::int32_t group = 0; group < batch.group_count; ++group) {
    Slot& target = slots_.at(static_cast<std::size_t>(batch.slots_of(group)[row]));
    CHECK(&target == &slot_of(batch.table(group, sequence), position),
          "the slot is where the table looks for it");
    target = {.token = token,
              .position = position,
              .group = group,
              .hash = random_bits(before, static_cast<std::uint64_t>(token) + 7)};
  }
}

/// Every position that the row attends to is there, and of the history that the anchor has.
void FakeForward::check_window(const exec::Batch& batch, std::size_t sequence, std::size_t row,
                               std::int32_t group) {
  const std::int32_t window = options_.groups[static_cast<std::size_t>(group)].window;
  const std::int32_t position = batch.positions[row];
  const auto table = batch.table(group, sequence);
  const auto anchor = batch.table(anchor_, sequence);
  for (std::int32_t p = std::max(0, position - window + 1); p <= position; ++p) {
    const Slot& slot = slot_of(table, p);
    CHECK(slot.position == p && slot.group == group, "the slot holds what is looked for");
    CHECK(slot.hash == slot_of(anchor, p).hash, "the slot was computed from this history");
  }
}

/// The hash of all tokens up to `position`, confirmed as far as the anchor reaches back.
std::uint64_t FakeForward::read_history(std::span<const BlockId> table, std::int32_t position) {
  const std::int32_t window = options_.groups[static_cast<std::size_t>(anchor_)].window;
  const std::int32_t first = window == 0 ? 0 : std::max(0, position - window + 1);
  history_.clear();
  std::uint64_t hash = 1;
  for (std::int32_t p = first; p <= position; ++p) {
    const Slot& slot = slot_of(table, p);
    CHECK(slot.position == p && slot.group == anchor_, "the slot holds what is looked for");
    // What was before the window is known by its hash only.
    hash = p == first && p > 0 ? slot.hash
                               : random_bits(hash, static_cast<std::uint64_t>(slot.token) + 7);
    CHECK(slot.hash == hash, "the slot was computed from this history");
    history_.push_back(slot.token);
  }
  return hash;
}

void FakeForward::read_row(std::span<const BlockId> table, std::int32_t position,
                           std::span<float> logits) {
  const std::uint64_t hash = read_history(table, position);
  for (std::size_t token = 0; token < logits.size(); ++token) {
    logits[token] = static_cast<float>(random_unit(hash, token)) * 8 - 4;
  }
  if (options_.next) logits[static_cast<std::size_t>(options_.next(history_))] = 100;
}

void FakeForward::check_shapes(const exec::Batch& batch, std::size_t logit_count) const {
  const std::size_t rows = batch.token_ids.size();
  const std::size_t groups = options_.groups.size();
  CHECK(batch.group_count == std::ssize(options_.groups), "the model's groups");
  CHECK(rows >= 1 && rows <= static_cast<std::size_t>(options_.rows_max), "T fits");
  CHECK(batch.positions.size() == rows && batch.slots.size() == groups * rows, "[groups, T]");
  CHECK(batch.row_starts[0] == 0 && static_cast<std::size_t>(batch.row_starts.back()) == rows);
  CHECK(batch.block_tables.size() == groups * (batch.row_starts.size() - 1) *
                                         static_cast<std::size_t>(batch.block_table_stride),
        "[groups, B, P]");
  CHECK(logit_count == batch.logit_rows.size() * static_cast<std::size_t>(options_.vocabulary),
        "[S, vocabulary]");
  CHECK(std::ranges::is_sorted(batch.logit_rows), "rising");
}

void FakeForward::run(const exec::Batch& batch, std::span<float> logits) {
  check_shapes(batch, logits.size());
  const auto for_rows = [&](auto visit) {
    for (std::size_t b = 0; b + 1 < batch.row_starts.size(); ++b) {
      for (std::int32_t r = batch.row_starts[b]; r < batch.row_starts[b + 1]; ++r) {
        visit(b, static_cast<std::size_t>(r));
      }
    }
  };
  // As in a model, the whole batch is written before anything is read.
  for_rows([&](std::size_t b, std::size_t row) { write_row(batch, b, row); });
  for_rows([&](std::size_t b, std::size_t row) {
    for (std::int32_t group = 0; group < batch.group_count; ++group) {
      const bool windowed = options_.groups[static_cast<std::size_t>(group)].window > 0;
      if (windowed) check_window(batch, b, row, group);
    }
  });
  const auto vocabulary = static_cast<std::size_t>(options_.vocabulary);
  std::size_t sequence = 0;
  for (std::size_t s = 0; s < batch.logit_rows.size(); ++s) {
    const std::int32_t row = batch.logit_rows[s];
    while (batch.row_starts[sequence + 1] <= row) ++sequence;
    read_row(batch.table(anchor_, sequence), batch.positions[static_cast<std::size_t>(row)],
             logits.subspan(s * vocabulary, vocabulary));
  }
}

void FakeForward::run_with_notes(const exec::Batch& batch, std::span<float> logits,
                                 const exec::LogitNotes& notes) {
  Forward::run_with_notes(batch, logits, notes);
  if (notes.states.empty()) return;
  CHECK(notes.states.size() == 2 * batch.logit_rows.size(), "states [S, hidden_size]");
  for (std::size_t s = 0; s < batch.logit_rows.size(); ++s) {
    const auto row = static_cast<std::size_t>(batch.logit_rows[s]);
    notes.states[2 * s] = static_cast<float>(batch.token_ids[row]);
    notes.states[2 * s + 1] = static_cast<float>(batch.positions[row]);
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
