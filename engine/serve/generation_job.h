#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/api/generation_fields.h"
#include "engine/api/request_support.h"
#include "engine/gateway/engine_port.h"
#include "engine/sched/generate_spec.h"
#include "engine/sched/token_event.h"
#include "engine/serve/served_model.h"

namespace kantha::serve {

/// A checked and tokenised request, ready for the engine. Each prompt becomes `fields.n` choices,
/// one after the other, as OpenAI numbers them.
struct GenerationJob {
  api::ApiKind api = api::ApiKind::kChat;
  api::GenerationFields fields;  ///< `seed` is set
  std::vector<std::vector<TokenId>> prompts;
  std::vector<std::vector<TokenId>> bad_words = {};  ///< fields.logits.bad_words as tokens
  TimePoint arrived{};
  std::shared_ptr<const ServedModel> model;

  std::size_t samples() const { return static_cast<std::size_t>(fields.n); }
  std::size_t choice_count() const { return prompts.size() * samples(); }
  std::size_t prompt_of(std::size_t choice) const { return choice / samples(); }
  std::size_t sample_of(std::size_t choice) const { return choice % samples(); }
};

/// The seed of sample `sample` of a request: the request's own for the first one, so that n = 1
/// changes nothing, and for the others a counter-based function of it (base/rng.h) at counters that
/// no output position reaches. Pure.
std::uint64_t seed_of_sample(std::uint64_t seed, std::size_t sample);

/// What keeps cached prefixes apart: 64 bits of SHA-256 over tenant and salt; 0, which everybody
/// shares, without a salt. Pure.
std::uint64_t salt_of(const std::string& tenant, const std::string& cache_salt);

/// When the request's time is up, if it has a limit. Pure.
std::optional<TimePoint> deadline_of(const api::GenerationFields& fields, TimePoint arrived);

/// What the client of a request hears whose time was up.
Error deadline_passed(const api::GenerationFields& fields);

/// What all choices of a job change in their logits; null when that is nothing. Pure.
std::shared_ptr<const sched::LogitRules> rules_of(const GenerationJob& job);

/// The engine's view of one choice, without its id, its rules and its sibling's id. Where the
/// client named no limit, max_tokens is what the window leaves (chat) or at most 16 (text).
/// kInvalidArgument with context_length_exceeded and all numbers when prompt and output do not fit
/// the window. Pure.
Result<sched::GenerateSpec> make_spec(const GenerationJob& job, std::size_t choice,
                                      const gateway::EngineLimits& limits);

/// How the choice has already ended, when its resumed tokens are all of it: an end token, a stop
/// token or max_tokens is reached. Pure.
std::optional<sched::FinishReason> ended_before(const sched::GenerateSpec& spec,
                                                std::span<const TokenId> end_tokens);

}  // namespace kantha::serve
