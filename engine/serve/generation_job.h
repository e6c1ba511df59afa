#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/api/answer_writer.h"
#include "engine/api/generation_fields.h"
#include "engine/api/request_support.h"
#include "engine/gateway/engine_port.h"
#include "engine/sched/generate_spec.h"
#include "engine/sched/token_event.h"
#include "engine/serve/answer_text.h"
#include "engine/serve/served_model.h"

namespace kantha::serve {

/// A checked and tokenised request, ready for the engine. Each prompt becomes `fields.best_of`
/// choices, one after the other, of which the client gets `fields.n`, as OpenAI numbers them.
struct GenerationJob {
  api::ApiKind api = api::ApiKind::kChat;
  const api::AnswerApi* answers = &api::kOpenAiAnswers;
  OrderedJson told = OrderedJson::object();  ///< what the answer repeats of the request
  api::GenerationFields fields;              ///< `seed` is set
  std::vector<std::vector<TokenId>> prompts;
  std::vector<std::string> prompt_texts = {};        ///< of `prompts`, with fields.echo
  std::vector<std::vector<TokenId>> bad_words = {};  ///< fields.logits.bad_words as tokens
  sched::Pooling pooling = sched::Pooling::kNone;
  std::shared_ptr<const grammar::Grammar> grammar = {};  ///< fields.output, compiled
  AnswerForm form = {};  ///< of all choices; each has calls' ids of its own
  TimePoint arrived{};
  std::shared_ptr<const ServedModel> model;

  std::size_t samples() const { return static_cast<std::size_t>(fields.best_of); }
  std::size_t choice_count() const { return prompts.size() * samples(); }
  std::size_t prompt_of(std::size_t choice) const { return choice / samples(); }
  std::size_t sample_of(std::size_t choice) const { return choice % samples(); }
  bool ranks() const { return fields.best_of > fields.n; }
  bool resumes() const { return !fields.vendor.resumed_token_ids.empty(); }
  /// The prompt is shown before the answer; a resuming client has it already.
  bool echoes() const { return fields.echo && !resumes(); }
};

/// The seed of sample `sample` of a request: the request's own for the first one, so that n = 1
/// changes nothing, and for the others a counter-based function of it (base/rng.h) at counters that
/// no output position reaches. Pure.
std::uint64_t seed_of_sample(std::uint64_t seed, std::size_t sample);

/// What keeps cached prefixes apart: 64 bits of SHA-256 over tenant and salt; 0, which everybody
/// shares, without a salt. Pure.
std::uint64_t salt_of(const std::string& tenant, const std::string& cache_salt);

/// What a choice's call ids are made from: its seed and its prompt, so that another engine gives
/// the same ones, and the next turn of a conversation others. Pure.
std::uint64_t call_seed(const sched::GenerateSpec& spec);

/// When the request's time is up, if it has a limit. Pure.
std::optional<TimePoint> deadline_of(const api::GenerationFields& fields, TimePoint arrived);

/// What the client of a request hears whose time was up.
Error deadline_passed(const api::GenerationFields& fields);

/// How many of the best the engine tells for the prompt's tokens; -1: nothing. Once for each
/// prompt, but in a stream, where samples come in any order, for each choice. Pure.
std::int32_t prompt_logprobs_of(const GenerationJob& job, std::size_t choice);

/// Error when the prompt's scores are too many for one chunk of a stream: they come in one, and the
/// thread that writes it serves everybody. Pure.
Status check_streamed_scores(const GenerationJob& job);

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
