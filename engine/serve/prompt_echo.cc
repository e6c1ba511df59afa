#include "engine/serve/prompt_echo.h"

#include <algorithm>

#include "base/check.h"
#include "engine/api/logprobs.h"

namespace kantha::serve {
namespace {

/// Those of the best that are wanted.
std::span<const sched::TokenLogprob> best_of(const sched::PromptScores& scores, std::int32_t entry,
                                             std::int32_t top) {
  return scores.best_of(entry).first(static_cast<std::size_t>(std::min(top, scores.top)));
}

}  // namespace

std::string prompt_token_text(const text::Tokenizer& tokenizer, TokenId id) {
  if (tokenizer.is_control(id)) return tokenizer.decode(std::span(&id, 1), /*with_special=*/true);
  return std::string(tokenizer.bytes_of(id));
}

std::vector<api::ScoredToken> prompt_tokens(const text::Tokenizer& tokenizer,
                                            std::span<const TokenId> prompt,
                                            const sched::PromptScores& scores, std::int32_t top) {
  CHECK(std::ssize(prompt) == scores.size() + 1, "the scores are the prompt's");
  std::vector<api::ScoredToken> tokens;
  tokens.reserve(prompt.size());
  tokens.push_back({.chosen = {.bytes = prompt_token_text(tokenizer, prompt[0])}, .scored = false});
  for (std::int32_t i = 0; i < scores.size(); ++i) {
    const auto place = static_cast<std::size_t>(i);
    api::ScoredToken token{.chosen = {.bytes = prompt_token_text(tokenizer, prompt[place + 1]),
                                      .logprob = double{scores.logprobs[place]}}};
    for (const sched::TokenLogprob& other : best_of(scores, i, top)) {
      token.top.push_back(
          {.bytes = prompt_token_text(tokenizer, other.token), .logprob = double{other.logprob}});
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::int64_t prompt_offset(const text::Tokenizer& tokenizer, std::span<const TokenId> prompt,
                           const std::string& text) {
  std::int64_t characters = api::count_characters(text);
  for (const TokenId id : prompt) {
    characters -= api::count_characters(prompt_token_text(tokenizer, id));
  }
  return characters;
}

std::vector<api::PromptPlace> prompt_places(const text::Tokenizer& tokenizer,
                                            std::span<const TokenId> prompt,
                                            const sched::PromptScores& scores, std::int32_t top) {
  CHECK(std::ssize(prompt) == scores.size() + 1, "the scores are the prompt's");
  std::vector<api::PromptPlace> places(1);
  for (std::int32_t i = 0; i < scores.size(); ++i) {
    const auto index = static_cast<std::size_t>(i);
    const auto candidate = [&](TokenId token, float logprob, std::int32_t rank) {
      return api::PromptCandidate{
          .token = token,
          .value = {.bytes = prompt_token_text(tokenizer, token), .logprob = double{logprob}},
          .rank = rank};
    };
    api::PromptPlace place{
        candidate(prompt[index + 1], scores.logprobs[index], scores.ranks[index])};
    std::int32_t rank = 0;
    for (const sched::TokenLogprob& other : best_of(scores, i, top)) {
      place.push_back(candidate(other.token, other.logprob, ++rank));
    }
    places.push_back(std::move(place));
  }
  return places;
}

}  // namespace kantha::serve
