#include "engine/serve/generation_job.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

#include "base/digest.h"
#include "base/rng.h"
#include "engine/api/completion_request.h"
#include "engine/api/openai_error.h"

namespace kantha::serve {
namespace {

Error does_not_fit(const GenerationJob& job, std::int64_t prompt, std::int64_t output,
                   std::int64_t window) {
  const char* field = job.api == api::ApiKind::kChat ? "messages" : "prompt";
  Error error = invalid_argument(std::string(field) + ": " + std::to_string(prompt) +
                                     " tokens of prompt and " + std::to_string(output) +
                                     " of output do not fit the window of " +
                                     std::to_string(window) + " tokens",
                                 field);
  error.reason = api::kReasonContextLength;
  return error;
}

sched::SloClass slo_of(api::SloClass given) {
  switch (given) {
    case api::SloClass::kInteractive: return sched::SloClass::kInteractive;
    case api::SloClass::kAgent: return sched::SloClass::kAgent;
    case api::SloClass::kBatch: return sched::SloClass::kBatch;
  }
  CHECK(false, "unknown class");
}

sched::SamplingParams sampling_of(const api::GenerationFields& fields) {
  sched::SamplingParams sampling;
  sampling.temperature = static_cast<float>(fields.temperature);
  // The sampler's top_p is above 0; the smallest share always keeps exactly the best token.
  sampling.top_p = std::max(static_cast<float>(fields.top_p), 1e-9F);
  sampling.top_k = fields.top_k;
  sampling.min_p = std::min(static_cast<float>(fields.min_p), 0.999999F);
  sampling.typical_p = std::max(static_cast<float>(fields.typical_p), 1e-9F);
  sampling.seed = static_cast<std::uint64_t>(fields.seed.value_or(0));
  // Ranking takes the chosen tokens' own.
  sampling.logprobs = std::max(fields.logprobs, fields.best_of > fields.n ? 0 : -1);
  return sampling;
}

/// Output tokens when the client names no limit: what fits the window and the pool.
std::int64_t default_max_tokens(const GenerationJob& job, std::int64_t prompt,
                                const gateway::EngineLimits& limits) {
  std::int64_t room = limits.context_max - prompt;
  if (limits.pool_tokens > 0) room = std::min(room, limits.pool_tokens - prompt);
  if (job.api == api::ApiKind::kChat) return room;
  return std::min<std::int64_t>(room, api::kCompletionMaxTokensDefault);
}

/// What the client asked for; where that is only a bound, no more than there is room for.
std::int64_t output_of(const GenerationJob& job, std::int64_t prompt,
                       const gateway::EngineLimits& limits) {
  const std::int64_t room = std::max<std::int64_t>(default_max_tokens(job, prompt, limits), 1);
  if (!job.fields.max_tokens) return room;
  const std::int64_t asked = *job.fields.max_tokens;
  return job.fields.max_tokens_clamps ? std::min(asked, room) : asked;
}

}  // namespace

std::uint64_t seed_of_sample(std::uint64_t seed, std::size_t sample) {
  constexpr std::uint64_t kSamples = std::uint64_t{1} << 63;
  return sample == 0 ? seed : random_bits(seed, kSamples + sample);
}

std::uint64_t salt_of(const std::string& tenant, const std::string& cache_salt) {
  if (cache_salt.empty()) return 0;
  // The length keeps ("a", "bc") and ("ab", "c") apart.
  const std::string digest = sha256_hex(std::to_string(tenant.size()) + ":" + tenant + cache_salt);
  std::uint64_t salt = 0;
  std::from_chars(digest.data(), digest.data() + 16, salt, 16);
  return std::max<std::uint64_t>(salt, 1);
}

std::uint64_t call_seed(const sched::GenerateSpec& spec) {
  std::uint64_t seed = spec.sampling.seed;
  for (const TokenId id : spec.prompt) seed = random_bits(seed, static_cast<std::uint64_t>(id));
  return seed;
}

std::optional<TimePoint> deadline_of(const api::GenerationFields& fields, TimePoint arrived) {
  if (!fields.vendor.timeout_ms) return std::nullopt;
  return arrived + std::chrono::milliseconds(*fields.vendor.timeout_ms);
}

Error deadline_passed(const api::GenerationFields& fields) {
  return Error{.code = Code::kDeadlineExceeded,
               .message = "kantha.timeout_ms: the request was not finished within " +
                          std::to_string(fields.vendor.timeout_ms.value_or(0)) + " ms",
               .field = "kantha.timeout_ms",
               .reason = api::kReasonDeadline};
}

std::int32_t prompt_logprobs_of(const GenerationJob& job, std::size_t choice) {
  const api::GenerationFields& fields = job.fields;
  if (job.pooling == sched::Pooling::kMean) return 0;
  if (job.resumes() || (job.sample_of(choice) > 0 && !fields.stream)) return -1;
  return std::max(fields.prompt_logprobs, fields.echo ? fields.logprobs : -1);
}

Status check_streamed_scores(const GenerationJob& job) {
  constexpr std::int64_t kMost = 16'384;
  if (!job.fields.stream || !job.echoes() || job.fields.logprobs < 0) return ok_status();
  const std::int64_t each = job.fields.logprobs + 1;
  for (const std::vector<TokenId>& prompt : job.prompts) {
    const auto tokens = static_cast<std::int64_t>(prompt.size());
    if (tokens * each <= kMost) continue;
    return invalid_argument("echo: expected a prompt of at most " + std::to_string(kMost / each) +
                                " tokens when stream is true and logprobs is " +
                                std::to_string(job.fields.logprobs) + ", got " +
                                std::to_string(tokens),
                            "echo");
  }
  return ok_status();
}

std::shared_ptr<const sched::LogitRules> rules_of(const GenerationJob& job) {
  const api::LogitFields& fields = job.fields.logits;
  sched::LogitRules rules;
  rules.repetition_penalty = static_cast<float>(fields.repetition_penalty);
  rules.presence_penalty = static_cast<float>(fields.presence_penalty);
  rules.frequency_penalty = static_cast<float>(fields.frequency_penalty);
  for (const api::LogitBias& bias : fields.bias) {
    rules.bias.push_back({.token = bias.token, .bias = static_cast<float>(bias.bias)});
  }
  rules.allowed = fields.allowed;
  rules.bad_words = job.bad_words;
  rules.grammar = job.grammar;
  if (rules.empty()) return nullptr;
  return std::make_shared<const sched::LogitRules>(std::move(rules));
}

Result<sched::GenerateSpec> make_spec(const GenerationJob& job, std::size_t choice,
                                      const gateway::EngineLimits& limits) {
  CHECK(choice < job.choice_count(), "a choice of this job");
  const api::GenerationFields& fields = job.fields;
  const std::vector<TokenId>& tokens = job.prompts[job.prompt_of(choice)];
  const auto prompt = static_cast<std::int64_t>(tokens.size());
  const std::int64_t output = output_of(job, prompt, limits);
  if (prompt + output > limits.context_max) {
    return does_not_fit(job, prompt, output, limits.context_max);
  }
  sched::GenerateSpec spec;
  spec.prompt = tokens;
  spec.resumed = fields.vendor.resumed_token_ids;
  spec.sampling = sampling_of(fields);
  spec.sampling.seed = seed_of_sample(spec.sampling.seed, job.sample_of(choice));
  spec.prompt_logprobs = prompt_logprobs_of(job, choice);
  spec.pooling = job.pooling;
  spec.max_tokens = static_cast<std::int32_t>(output);
  spec.min_tokens = std::min(fields.min_tokens, spec.max_tokens);
  spec.stop_token_ids = fields.stop_token_ids;
  spec.ignore_eos = fields.ignore_eos;
  spec.arrived = job.arrived;
  spec.tenant = fields.vendor.tenant;
  spec.slo = slo_of(fields.slo);
  spec.priority = fields.priority;
  spec.deadline = deadline_of(fields, job.arrived);
  spec.salt = salt_of(fields.vendor.tenant, fields.cache_salt);
  return spec;
}

std::optional<sched::FinishReason> ended_before(const sched::GenerateSpec& spec,
                                                std::span<const TokenId> end_tokens) {
  if (spec.resumed.empty()) return std::nullopt;
  const TokenId last = spec.resumed.back();
  const bool end = !spec.ignore_eos && std::ranges::find(end_tokens, last) != end_tokens.end();
  const bool stop = std::ranges::find(spec.stop_token_ids, last) != spec.stop_token_ids.end();
  if (end || stop) return sched::FinishReason::kStop;
  const bool full = static_cast<std::int64_t>(spec.resumed.size()) >= spec.max_tokens;
  return full ? std::optional(sched::FinishReason::kLength) : std::nullopt;
}

}  // namespace kantha::serve
