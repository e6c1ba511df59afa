#pragma once

#include <memory>
#include <vector>

#include "base/ids.h"

namespace kantha::grammar {
class Grammar;
}

/// What one request changes in its logits before a token is drawn; plain data.
namespace kantha::sched {

struct TokenBias {
  TokenId token = 0;
  float bias = 0;  ///< added to its logit
};

/// Shared by a request's samples and never changed once the request is queued. Applied in the order
/// of exec/logit_editor.h; what is as it is here costs nothing.
struct LogitRules {
  /// Of tokens that occur in the prompt or the output: logits above 0 are divided by it, others
  /// multiplied (CTRL, arXiv 1909.05858, section 4.1). 0.01 … 100.
  float repetition_penalty = 1;
  float presence_penalty = 0;         ///< subtracted from tokens that occur in the output
  float frequency_penalty = 0;        ///< subtracted from those once for each time
  std::vector<TokenBias> bias = {};   ///< each token once
  std::vector<TokenId> allowed = {};  ///< nothing else may be drawn; empty: everything may
  /// Never completed in the output: at least one token each.
  std::vector<std::vector<TokenId>> bad_words = {};
  /// What the whole output must look like; null: anything. Each sample follows it by itself.
  std::shared_ptr<const grammar::Grammar> grammar = {};

  bool counts_prompt() const { return repetition_penalty != 1; }
  bool counts_output() const {
    return counts_prompt() || presence_penalty != 0 || frequency_penalty != 0;
  }
  /// Nothing is changed.
  bool empty() const {
    return !counts_output() && bias.empty() && allowed.empty() && bad_words.empty() &&
           grammar == nullptr;
  }
};

}  // namespace kantha::sched
