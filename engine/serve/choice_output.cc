#include "engine/serve/choice_output.h"

#include <utility>

#include "engine/api/logprobs.h"

namespace kantha::serve {

using sched::FinishReason;

ChoiceOutput::ChoiceOutput(const text::Tokenizer& tokenizer, ChoiceOptions options,
                           std::span<const TokenId> resumed)
    : tokenizer_(tokenizer),
      options_(std::move(options)),
      detokenizer_(tokenizer, options_.stop, options_.include_stop) {
  for (const TokenId id : resumed) {
    resumed_characters_ += api::count_characters(push_text(id, ++output_tokens_));
  }
  if (!detokenizer_.stopped()) return;
  // The engine that was resumed from died between the stop string and the last chunk.
  finish_ = FinishReason::kStop;
  stopped_here_ = true;
}

api::ScoredToken ChoiceOutput::score(const sched::TokenEvent& event) const {
  const auto bytes = [&](TokenId id) { return std::string(tokenizer_.bytes_of(id)); };
  api::ScoredToken scored;
  scored.chosen = {bytes(*event.token), event.logprob};
  for (const sched::TokenLogprob& other : event.top_logprobs) {
    scored.top.push_back({bytes(other.token), other.logprob});
  }
  return scored;
}

std::string ChoiceOutput::push_text(TokenId id, std::int32_t number) {
  return detokenizer_.push(id, /*watched=*/number > options_.min_tokens);
}

/// An end token's id is kept, its text and its probability are not shown.
void ChoiceOutput::add_token(const sched::TokenEvent& event, std::string& text) {
  pending_ids_.push_back(*event.token);
  if (event.finish == FinishReason::kStop) return;
  if (options_.scores) pending_scores_.push_back(score(event));
  text = push_text(*event.token, event.output_tokens);
}

std::optional<api::Delta> ChoiceOutput::make_delta(std::string text) {
  // A cut stop string takes its tokens' probabilities with it.
  const bool last_scores = finish_ && !detokenizer_.stopped() && !pending_scores_.empty();
  if (text.empty() && !last_scores) return std::nullopt;
  api::Delta delta;
  delta.index = options_.index;
  delta.text = std::move(text);
  delta.scores = std::exchange(pending_scores_, {});
  delta.token_ids = std::exchange(pending_ids_, {});
  return delta;
}

/// Nothing more will come. A stop string that was complete, and was held only because an earlier
/// one might still have been completed, ends the text after all.
std::string ChoiceOutput::flush() {
  std::string text = detokenizer_.flush();
  if (detokenizer_.stopped()) finish_ = FinishReason::kStop;
  return text;
}

void ChoiceOutput::end(FinishReason reason) {
  if (finish_) return;
  finish_ = reason;
  static_cast<void>(flush());
}

std::optional<api::Delta> ChoiceOutput::push(const sched::TokenEvent& event) {
  if (finish_) return std::nullopt;
  cached_tokens_ = event.cached_tokens;
  output_tokens_ = event.output_tokens;
  std::string text;
  if (event.token) add_token(event, text);
  if (detokenizer_.stopped()) {
    finish_ = FinishReason::kStop;
    stopped_here_ = !event.finish;
  } else if (event.finish) {
    finish_ = event.finish;
    error_ = event.error;
    forbidden_ = event.forbidden;
    const bool proper = finish_ == FinishReason::kStop || finish_ == FinishReason::kLength;
    if (proper) text += flush();
  }
  return make_delta(std::move(text));
}

}  // namespace kantha::serve
