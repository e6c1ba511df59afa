#include "engine/exec/logit_editor.h"

#include <algorithm>
#include <limits>

#include "engine/exec/row_kernels.h"

namespace kantha::exec {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

/// The last token of a word may not come when those before it have just come.
bool would_complete(std::span<const TokenId> output, std::span<const TokenId> word) {
  const std::size_t before = word.size() - 1;
  return output.size() >= before && std::ranges::equal(output.last(before), word.first(before));
}

}  // namespace

std::span<const std::size_t> LogitEditor::edit(std::span<float> logits, const LogitEdits& edits) {
  logits_ = logits;
  touched_.clear();
  is_touched_.assign(logit_blocks(logits.size()), false);
  if (edits.grammar != nullptr) keep_grammatical(*edits.grammar, edits.end_ids);
  if (edits.rules != nullptr) {
    if (!edits.rules->allowed.empty()) keep_allowed(edits.rules->allowed);
    forbid_bad_words(edits);
  }
  for (const TokenId token : edits.masked) forbid(token);
  if (edits.rules != nullptr) {
    for (const sched::TokenBias& bias : edits.rules->bias) at(bias.token) += bias.bias;
    penalise(edits);
  }
  return touched_;
}

float& LogitEditor::at(TokenId token) {
  const auto place = static_cast<std::size_t>(token);
  const std::size_t block = place / kLogitBlock;
  if (!is_touched_[block]) {
    is_touched_[block] = true;
    touched_.push_back(block);
  }
  return logits_[place];
}

void LogitEditor::forbid(TokenId token) { at(token) = kNothing; }

void LogitEditor::keep_allowed(std::span<const TokenId> allowed) {
  kept_.clear();
  for (const TokenId token : allowed) kept_.push_back(logits_[static_cast<std::size_t>(token)]);
  std::ranges::fill(logits_, kNothing);
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    logits_[static_cast<std::size_t>(allowed[i])] = kept_[i];
  }
  touch_all();
}

void LogitEditor::touch_all() {
  touched_.clear();
  for (std::size_t block = 0; block < is_touched_.size(); ++block) {
    is_touched_[block] = true;
    touched_.push_back(block);
  }
}

void LogitEditor::keep_grammatical(grammar::GrammarState& state, std::span<const TokenId> end_ids) {
  mask_.resize((logits_.size() + 63) / 64);
  state.fill_mask(mask_);
  if (state.is_complete()) {
    for (const TokenId token : end_ids) {
      mask_[static_cast<std::size_t>(token) / 64] |= std::uint64_t{1} << (token % 64);
    }
  }
  for (std::size_t word = 0; word < mask_.size(); ++word) {
    const std::span<float> part =
        logits_.subspan(word * 64, std::min<std::size_t>(64, logits_.size() - word * 64));
    if (mask_[word] == 0) {
      std::ranges::fill(part, kNothing);
    } else if (mask_[word] != ~std::uint64_t{0}) {
      for (std::size_t bit = 0; bit < part.size(); ++bit) {
        if ((mask_[word] >> bit & 1) == 0) part[bit] = kNothing;
      }
    }
  }
  touch_all();
}

void LogitEditor::forbid_bad_words(const LogitEdits& edits) {
  for (const std::vector<TokenId>& word : edits.rules->bad_words) {
    if (would_complete(edits.output, word)) forbid(word.back());
  }
}

void LogitEditor::penalise(const LogitEdits& edits) {
  const sched::LogitRules& rules = *edits.rules;
  if (!rules.counts_output()) return;
  for (const sched::TokenCounts::Entry& entry : edits.counts) {
    float& logit = at(entry.token);
    if (rules.repetition_penalty != 1) {
      logit = logit > 0 ? logit / rules.repetition_penalty : logit * rules.repetition_penalty;
    }
    if (entry.in_output == 0) continue;
    logit -= rules.frequency_penalty * static_cast<float>(entry.in_output);
    logit -= rules.presence_penalty;
  }
}

}  // namespace kantha::exec
