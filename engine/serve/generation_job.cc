#include "engine/serve/generation_job.h"

#include <algorithm>
#include <limits>
#include <string>

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

sched::SamplingParams sampling_of(const api::GenerationFields& fields) {
  sched::SamplingParams sampling;
  sampling.temperature = static_cast<float>(fields.temperature);
  // The sampler's top_p is above 0; the smallest share always keeps exactly the best token.
  sampling.top_p = std::max(static_cast<float>(fields.top_p), 1e-9F);
  sampling.top_k = fields.top_k;
  sampling.min_p = std::min(static_cast<float>(fields.min_p), 0.999999F);
  sampling.seed = static_cast<std::uint64_t>(fields.seed.value_or(0));
  sampling.logprobs = fields.logprobs;
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

}  // namespace

Result<sched::GenerateSpec> make_spec(const GenerationJob& job, std::size_t choice,
                                      const gateway::EngineLimits& limits) {
  CHECK(choice < job.prompts.size(), "a choice of this job");
  const api::GenerationFields& fields = job.fields;
  const auto prompt = static_cast<std::int64_t>(job.prompts[choice].size());
  const std::int64_t output =
      fields.max_tokens ? std::int64_t{*fields.max_tokens}
                        : std::max<std::int64_t>(default_max_tokens(job, prompt, limits), 1);
  if (prompt + output > limits.context_max) {
    return does_not_fit(job, prompt, output, limits.context_max);
  }
  sched::GenerateSpec spec;
  spec.prompt = job.prompts[choice];
  spec.resumed = fields.vendor.resumed_token_ids;
  spec.sampling = sampling_of(fields);
  spec.max_tokens = static_cast<std::int32_t>(output);
  spec.min_tokens = std::min(fields.min_tokens, spec.max_tokens);
  spec.stop_token_ids = fields.stop_token_ids;
  spec.ignore_eos = fields.ignore_eos;
  spec.arrived = job.arrived;
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
