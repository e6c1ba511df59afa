#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "engine/grammar/grammar.h"
#include "engine/sched/logit_rules.h"
#include "engine/sched/token_counts.h"

/// Changes a row of logits as its request wants it, before a token is drawn.
namespace kantha::exec {

/// What one row's changes depend on. All of it follows from the request and its token ids.
struct LogitEdits {
  std::span<const TokenId> masked = {};                    ///< may not be drawn now (min_tokens)
  const sched::LogitRules* rules = nullptr;                ///< null: none
  std::span<const TokenId> output = {};                    ///< so far, resumed tokens included
  std::span<const sched::TokenCounts::Entry> counts = {};  ///< where the rules count
  grammar::GrammarState* grammar = nullptr;                ///< of the output so far; null: none
  std::span<const TokenId> end_ids = {};  ///< may come where what the grammar has is complete

  bool empty() const { return masked.empty() && rules == nullptr && grammar == nullptr; }
};

/// In this order, as vLLM documents it for its own:
///   1. tokens that the grammar or allowed_token_ids do not allow go to -inf,
///   2. then those that would complete a bad word,
///   3. then masked ones (end tokens before min_tokens);
///   4. biases are added;
///   5. penalties: repetition, then frequency, then presence.
/// Touches only the logits that change, each of them with the same float operations wherever it
/// runs. One thread at a time; buffers are reused.
class LogitEditor {
 public:
  /// The blocks (kLogitBlock) that hold a changed logit, each once; valid until the next call.
  std::span<const std::size_t> edit(std::span<float> logits, const LogitEdits& edits);

 private:
  float& at(TokenId token);
  void forbid(TokenId token);
  void touch_all();
  void keep_allowed(std::span<const TokenId> allowed);
  void keep_grammatical(grammar::GrammarState& state, std::span<const TokenId> end_ids);
  void forbid_bad_words(const LogitEdits& edits);
  void penalise(const LogitEdits& edits);

  std::span<float> logits_;
  std::vector<bool> is_touched_;  ///< [blocks]
  std::vector<std::size_t> touched_;
  std::vector<float> kept_;
  std::vector<std::uint64_t> mask_;  ///< [(vocabulary + 63) / 64] of the grammar
};

}  // namespace kantha::exec
