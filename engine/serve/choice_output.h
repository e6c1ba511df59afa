#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/reply.h"
#include "engine/sched/token_event.h"
#include "engine/text/detokenizer.h"
#include "engine/text/tokenizer.h"

namespace kantha::serve {

struct ChoiceOptions {
  std::int32_t index = 0;
  std::vector<std::string> stop = {};
  bool include_stop = false;
  bool scores = false;          ///< keep log-probabilities
  std::int32_t min_tokens = 0;  ///< stop strings begin after so many
};

/// The output side of one choice: engine events in, deltas for the client out. Holds tokens back
/// with their text, so that a delta's token ids and log-probabilities are those whose text it
/// completes. One thread.
class ChoiceOutput {
 public:
  /// `resumed` are output tokens whose text the client already has; what was held back after them
  /// is still to come, unless they are all (`end`). The tokenizer outlives this.
  ChoiceOutput(const text::Tokenizer& tokenizer, ChoiceOptions options,
               std::span<const TokenId> resumed);

  /// Takes one event of this choice; gives a delta when there is something to show. After the last
  /// one `finish` is set. Events after that are ignored.
  std::optional<api::Delta> push(const sched::TokenEvent& event);

  /// Ends it without the engine: the resumed tokens were already all of it. There is nothing left
  /// to show, because the last token's id never comes before the text that its end sets free.
  void end(sched::FinishReason reason);

  /// How it ended. kStop covers stop strings too: the engine does not know them and must then be
  /// told to abort (`stopped_here`).
  std::optional<sched::FinishReason> finish() const { return finish_; }
  bool stopped_here() const { return stopped_here_; }
  /// Why, for kError.
  const std::string& error() const { return error_; }
  /// With kError: the request itself forbids whatever could come next.
  bool forbidden() const { return forbidden_; }
  /// Token ids that no delta carried: the end token and those of a cut stop string.
  const std::vector<TokenId>& rest() const { return pending_ids_; }
  std::int32_t index() const { return options_.index; }
  std::int32_t cached_tokens() const { return cached_tokens_; }
  /// Output tokens, resumed ones and the end token included.
  std::int32_t output_tokens() const { return output_tokens_; }
  /// Characters of the text that the client had before.
  std::int64_t resumed_characters() const { return resumed_characters_; }

 private:
  api::ScoredToken score(const sched::TokenEvent& event) const;
  /// `number` counts output tokens from 1.
  std::string push_text(TokenId id, std::int32_t number);
  void add_token(const sched::TokenEvent& event, std::string& text);
  std::optional<api::Delta> make_delta(std::string text);
  std::string flush();

  const text::Tokenizer& tokenizer_;
  ChoiceOptions options_;
  text::Detokenizer detokenizer_;
  std::vector<TokenId> pending_ids_;
  std::vector<api::ScoredToken> pending_scores_;
  std::optional<sched::FinishReason> finish_;
  bool stopped_here_ = false;
  std::string error_;
  bool forbidden_ = false;
  std::int32_t cached_tokens_ = 0;
  std::int32_t output_tokens_ = 0;
  std::int64_t resumed_characters_ = 0;
};

}  // namespace kantha::serve
