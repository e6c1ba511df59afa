#include "engine/serve/choice_output.h"

#include <algorithm>
#include <utility>

#include "engine/api/logprobs.h"

namespace kantha::serve {

using sched::FinishReason;

ChoiceOutput::ChoiceOutput(const text::Tokenizer& tokenizer, const AnswerText::Marks& marks,
                           ChoiceOptions options, std::span<const TokenId> resumed)
    : tokenizer_(tokenizer),
      options_(std::move(options)),
      text_(tokenizer, marks, options_.form, options_.stop, options_.include_stop) {
  for (const TokenId id : resumed) {
    resumed_characters_ += api::count_characters(push_text(id, ++output_tokens_).content);
  }
  if (!text_.stopped()) return;
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

dialect::Parsed ChoiceOutput::push_text(TokenId id, std::int32_t number) {
  pushed_ += text_.bytes_of(id).size();
  const bool was_reasoning = text_.is_reasoning();
  if (was_reasoning) ++reasoning_tokens_;
  if (options_.form.puts_in()) tokens_.push_back(id);
  dialect::Parsed shown = text_.push(id, /*watched=*/number > options_.min_tokens);
  if (was_reasoning && !text_.is_reasoning()) {
    answer_start_ = tokens_.size();
    answer_begun_ = text_.is_past_reasoning();
  }
  return shown;
}

/// A function of the tokens so far, so that a resumed answer goes on in the same way.
std::span<const TokenId> ChoiceOutput::due() const {
  const AnswerForm& form = options_.form;
  if (finish_ || !form.puts_in()) return {};
  if (text_.is_reasoning()) {
    const bool over = form.reasoning_tokens_max && reasoning_tokens_ >= *form.reasoning_tokens_max;
    return over ? std::span<const TokenId>(form.reasoning_end) : std::span<const TokenId>();
  }
  if (answer_begun_) return {};
  const auto answer = std::span(tokens_).subspan(answer_start_);
  const std::span<const TokenId> opening = form.opening;
  if (answer.size() >= opening.size()) return {};
  if (!std::ranges::equal(answer, opening.first(answer.size()))) return {};
  return opening.subspan(answer.size());
}

/// An end token's id is kept, its text and its probability are not shown.
void ChoiceOutput::add_token(const sched::TokenEvent& event, dialect::Parsed& shown) {
  Pending token{.id = *event.token, .start = pushed_};
  const bool is_text = event.finish != FinishReason::kStop || event.ends_with_text;
  if (is_text && options_.scores) token.score = score(event);
  pending_.push_back(std::move(token));
  if (is_text) shown = push_text(*event.token, event.output_tokens);
}

/// A stop string took all of its text. With a parser nobody can say; its tokens are told.
bool ChoiceOutput::is_cut(const Pending& token) const {
  return !text_.parses() && text_.stopped() && token.start >= text_.shown();
}

std::optional<api::Delta> ChoiceOutput::make_delta(dialect::Parsed shown) {
  const auto is_scored = [](const Pending& token) { return token.score.has_value(); };
  // A cut stop string takes its tokens' probabilities with it.
  const bool last_scores = finish_ && !text_.stopped() && std::ranges::any_of(pending_, is_scored);
  if (shown.empty() && !last_scores) return std::nullopt;
  api::Delta delta;
  delta.index = options_.index;
  delta.text = std::move(shown.content);
  delta.reasoning = std::move(shown.reasoning);
  delta.calls = std::move(shown.calls);
  std::size_t told = 0;
  for (Pending& token : pending_) {
    if (is_cut(token)) break;
    if (token.score) delta.scores.push_back(*std::move(token.score));
    delta.token_ids.push_back(token.id);
    ++told;
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(told));
  return delta;
}

std::string_view ChoiceOutput::stop_string() const {
  const std::optional<std::size_t> which = text_.stopped_by();
  return which ? std::string_view(options_.stop[*which]) : std::string_view();
}

std::vector<TokenId> ChoiceOutput::rest() const {
  std::vector<TokenId> ids;
  for (const Pending& token : pending_) ids.push_back(token.id);
  return ids;
}

/// Nothing more will come. A stop string that was complete, and was held only because an earlier
/// one might still have been completed, ends the text after all.
dialect::Parsed ChoiceOutput::flush() {
  dialect::Parsed shown = text_.flush();
  if (text_.stopped()) finish_ = FinishReason::kStop;
  return shown;
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
  dialect::Parsed shown;
  if (event.token) add_token(event, shown);
  if (text_.stopped()) {
    finish_ = FinishReason::kStop;
    stopped_here_ = !event.finish;
  } else if (event.finish) {
    finish_ = event.finish;
    error_ = event.error;
    forbidden_ = event.forbidden;
    const bool proper = finish_ == FinishReason::kStop || finish_ == FinishReason::kLength;
    if (proper) shown.append(flush());
  }
  return make_delta(std::move(shown));
}

}  // namespace kantha::serve
