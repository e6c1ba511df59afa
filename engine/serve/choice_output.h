#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/reply.h"
#include "engine/sched/token_event.h"
#include "engine/serve/answer_text.h"
#include "engine/text/tokenizer.h"

namespace kantha::serve {

struct ChoiceOptions {
  std::int32_t index = 0;
  std::vector<std::string> stop = {};
  bool include_stop = false;
  bool scores = false;          ///< keep log-probabilities
  std::int32_t min_tokens = 0;  ///< stop strings begin after so many
  AnswerForm form = {};
};

/// The output side of one choice: engine events in, deltas for the client out. Holds tokens back
/// with their text, so that a delta's token ids and log-probabilities are those whose text it
/// completes; of tokens that a stop string has cut whole, neither is told. One thread.
class ChoiceOutput {
 public:
  /// `resumed` are output tokens whose text the client already has; what was held back after them
  /// is still to come, unless they are all (`end`). Tokenizer and marks (answer_text.h) outlive
  /// this.
  ChoiceOutput(const text::Tokenizer& tokenizer, const AnswerText::Marks& marks,
               ChoiceOptions options, std::span<const TokenId> resumed);

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
  /// The client's stop string that ended it; empty: none did.
  std::string_view stop_string() const;
  /// Why, for kError.
  const std::string& error() const { return error_; }
  /// With kError: the request itself forbids whatever could come next.
  bool forbidden() const { return forbidden_; }
  /// Token ids that no delta carried: the end token and those of a cut stop string.
  std::vector<TokenId> rest() const;
  std::int32_t index() const { return options_.index; }
  std::int32_t cached_tokens() const { return cached_tokens_; }
  /// Output tokens, resumed ones and the end token included.
  std::int32_t output_tokens() const { return output_tokens_; }
  /// Of those, tokens that were reasoning.
  std::int32_t reasoning_tokens() const { return reasoning_tokens_; }
  /// The next token would be reasoning.
  bool is_reasoning() const { return text_.is_reasoning(); }
  std::int32_t calls() const { return text_.calls(); }
  /// Tokens that the model must not choose but that come next, by the choice's form: the end of
  /// reasoning that is too long, the beginning of a call that must come. Mostly none.
  std::span<const TokenId> due() const;
  /// The output so far, resumed tokens included, where `due` may ever give some.
  const std::vector<TokenId>& tokens() const { return tokens_; }
  /// Characters of the text that the client had before.
  std::int64_t resumed_characters() const { return resumed_characters_; }

 private:
  /// A token that no delta has carried yet.
  struct Pending {
    TokenId id = 0;
    std::size_t start = 0;  ///< of its text, in bytes of the stream
    std::optional<api::ScoredToken> score = {};
  };

  api::ScoredToken score(const sched::TokenEvent& event) const;
  /// `number` counts output tokens from 1.
  dialect::Parsed push_text(TokenId id, std::int32_t number);
  void add_token(const sched::TokenEvent& event, dialect::Parsed& shown);
  std::optional<api::Delta> make_delta(dialect::Parsed shown);
  bool is_cut(const Pending& token) const;
  dialect::Parsed flush();

  const text::Tokenizer& tokenizer_;
  ChoiceOptions options_;
  AnswerText text_;
  std::vector<Pending> pending_;
  std::size_t pushed_ = 0;  ///< bytes of the stream
  std::optional<sched::FinishReason> finish_;
  bool stopped_here_ = false;
  std::string error_;
  bool forbidden_ = false;
  std::int32_t cached_tokens_ = 0;
  std::int32_t output_tokens_ = 0;
  std::int32_t reasoning_tokens_ = 0;
  std::vector<TokenId> tokens_;
  std::size_t answer_start_ = 0;  ///< output tokens before the answer proper
  bool answer_begun_ = false;     ///< the token that ended the reasoning has some of it
  std::int64_t resumed_characters_ = 0;
};

}  // namespace kantha::serve
