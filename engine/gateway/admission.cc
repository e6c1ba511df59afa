#include "engine/gateway/admission.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace kantha::gateway {
namespace {

std::string number(std::int64_t value) { return std::to_string(value); }

std::int64_t retry_after_ms(const QueueNumbers& queue) {
  if (queue.tokens_per_second <= 0) return 1000;
  const double ms = static_cast<double>(queue.tokens_waiting) / queue.tokens_per_second * 1000;
  return static_cast<std::int64_t>(std::clamp(ms, 100.0, 60'000.0));
}

Error too_long(std::string message) {
  Error error = invalid_argument(std::move(message));
  error.reason = "context_length_exceeded";
  return error;
}

Error out_of_range(const char* field, const std::string& range, const std::string& got) {
  return invalid_argument(std::string(field) + ": expected " + range + ", got " + got, field);
}

Status check_tokens(const char* field, std::span<const TokenId> tokens, std::int32_t vocabulary) {
  for (const TokenId token : tokens) {
    if (token < 0 || token >= vocabulary) {
      return out_of_range(field, "token ids in [0, " + number(vocabulary - 1) + "]", number(token));
    }
  }
  return ok_status();
}

// Written so that NaN fails.
Status check_sampling(const sched::SamplingParams& sampling, std::int32_t vocabulary) {
  if (!(sampling.temperature >= 0 && sampling.temperature <= 2)) {
    return out_of_range("temperature", "a number in [0, 2]", std::to_string(sampling.temperature));
  }
  if (!(sampling.top_p > 0 && sampling.top_p <= 1)) {
    return out_of_range("top_p", "a number in (0, 1]", std::to_string(sampling.top_p));
  }
  if (!(sampling.min_p >= 0 && sampling.min_p < 1)) {
    return out_of_range("min_p", "a number in [0, 1)", std::to_string(sampling.min_p));
  }
  if (!(sampling.typical_p > 0 && sampling.typical_p <= 1)) {
    return out_of_range("typical_p", "a number in (0, 1]", std::to_string(sampling.typical_p));
  }
  if (sampling.top_k < 0) {
    return out_of_range("top_k", "an integer of at least 0", number(sampling.top_k));
  }
  if (sampling.logprobs < -1 || sampling.logprobs > vocabulary) {
    return out_of_range("logprobs", "an integer in [-1, " + number(vocabulary) + "]",
                        number(sampling.logprobs));
  }
  return ok_status();
}

/// Biases and penalties are checked at the request's door; here what would be out of bounds.
Status check_rules(const sched::LogitRules& rules, std::int32_t vocabulary) {
  for (const sched::TokenBias& bias : rules.bias) {
    TRY_OK(check_tokens("logit_bias", std::span(&bias.token, 1), vocabulary));
  }
  for (const std::vector<TokenId>& word : rules.bad_words) {
    if (word.empty()) return out_of_range("bad_words", "at least one token each", "none");
    TRY_OK(check_tokens("bad_words", word, vocabulary));
  }
  if (!(rules.repetition_penalty >= 0.01F && rules.repetition_penalty <= 100)) {
    return out_of_range("repetition_penalty", "a number in [0.01, 100]",
                        std::to_string(rules.repetition_penalty));
  }
  return check_tokens("allowed_token_ids", rules.allowed, vocabulary);
}

Status check_length(const EngineLimits& limits, const sched::GenerateSpec& spec) {
  const auto prompt = static_cast<std::int64_t>(spec.prompt.size());
  const std::int64_t least = spec.max_tokens > 0 ? 1 : 0;
  if (prompt + least > limits.context_max) {
    return too_long("the prompt has " + number(prompt) + " tokens; with " + number(least) +
                    " of output it exceeds the context of " + number(limits.context_max) +
                    " tokens");
  }
  const std::int64_t longest = std::min<std::int64_t>(prompt + spec.max_tokens, limits.context_max);
  if (longest > limits.pool_tokens) {
    return too_long("the prompt's " + number(prompt) + " tokens and max_tokens " +
                    number(spec.max_tokens) + " need " + number(longest) +
                    " tokens of KV cache; the whole cache holds " + number(limits.pool_tokens));
  }
  return ok_status();
}

}  // namespace

StepStarts::StepStarts(const EngineLimits& limits, const EngineStats& last) {
  if (last.requests_waiting > 0 || limits.sequences_max <= last.requests_running) return;
  slots_ = limits.sequences_max - last.requests_running;
  // Before the first step nothing is known of the budget, and nothing competes for it.
  tokens_ = last.step_tokens_budget > 0 ? last.step_tokens_budget : limits.context_max;
  storage_ = (last.blocks_total - last.blocks_active) * last.block_size;
}

bool StepStarts::take(std::int64_t prompt_tokens) {
  if (left() == 0 || prompt_tokens > storage_) return false;
  --slots_;
  tokens_ -= prompt_tokens;
  storage_ -= prompt_tokens;
  return true;
}

std::int64_t prompt_tokens_queued_max(const EngineLimits& limits, double tokens_per_second) {
  constexpr std::int64_t kUnmeasured = 1 << 20;
  if (limits.prompt_tokens_queued_max > 0) return limits.prompt_tokens_queued_max;
  if (tokens_per_second <= 0) return std::max<std::int64_t>(kUnmeasured, limits.context_max);
  const double seconds = std::chrono::duration<double>(limits.ttft_target).count();
  const double tokens = std::min(seconds * tokens_per_second, 1e15);
  return std::max<std::int64_t>(static_cast<std::int64_t>(tokens), limits.context_max);
}

Status check_queue(const EngineLimits& limits, const QueueNumbers& queue,
                   const QueueDemand& demand) {
  const bool starts =
      demand.requests_ahead < queue.starts_left && demand.tokens_ahead < queue.start_tokens_left;
  const std::int64_t requests =
      queue.requests_waiting + std::max<std::int64_t>(demand.requests_ahead - queue.starts_left, 0);
  const std::int64_t tokens = queue.tokens_waiting + demand.tokens_ahead;
  if (starts || (requests == 0 && tokens == 0)) return ok_status();
  const std::int64_t tokens_max = prompt_tokens_queued_max(limits, queue.tokens_per_second);
  std::string message;
  if (requests >= limits.requests_queued_max) {
    message = number(requests) + " requests wait already; the limit is " +
              number(limits.requests_queued_max);
  } else if (tokens + demand.prompt_tokens > tokens_max) {
    message = number(tokens) + " prompt tokens wait already; with " + number(demand.prompt_tokens) +
              " more the limit of " + number(tokens_max) + " is exceeded";
  } else {
    return ok_status();
  }
  return Error{.code = Code::kResourceExhausted,
               .message = std::move(message),
               .reason = "queue_full",
               .retry_after_ms = retry_after_ms(queue)};
}

Status check_spec(const EngineLimits& limits, const sched::GenerateSpec& spec) {
  if (spec.prompt.empty()) return out_of_range("prompt", "at least one token", "none");
  if (spec.max_tokens < 0) {
    return out_of_range("max_tokens", "an integer of at least 0", number(spec.max_tokens));
  }
  if (spec.prompt_logprobs < -1 || spec.prompt_logprobs > limits.vocabulary_size) {
    return out_of_range("prompt_logprobs",
                        "an integer in [-1, " + number(limits.vocabulary_size) + "]",
                        number(spec.prompt_logprobs));
  }
  if (spec.prompt_logprobs >= 0 && limits.score_rows_max <= 0) {
    return unimplemented("prompt_logprobs: not supported by this engine", "prompt_logprobs");
  }
  if (spec.pooling != sched::Pooling::kNone && limits.hidden_size <= 0) {
    return unimplemented("embeddings: not supported by this engine");
  }
  if (spec.min_tokens < 0 || spec.min_tokens > spec.max_tokens) {
    return out_of_range("min_tokens", "an integer in [0, " + number(spec.max_tokens) + "]",
                        number(spec.min_tokens));
  }
  TRY_OK(check_length(limits, spec));
  const auto resumed = static_cast<std::int64_t>(spec.resumed.size());
  const auto prompt = static_cast<std::int64_t>(spec.prompt.size());
  const std::int64_t output_max =
      std::min<std::int64_t>(spec.max_tokens, limits.context_max - prompt);
  if (resumed > output_max) {
    return out_of_range("resumed", "at most " + number(output_max) + " tokens", number(resumed));
  }
  TRY_OK(check_tokens("prompt", spec.prompt, limits.vocabulary_size));
  TRY_OK(check_tokens("resumed", spec.resumed, limits.vocabulary_size));
  TRY_OK(check_tokens("stop_token_ids", spec.stop_token_ids, limits.vocabulary_size));
  if (spec.rules != nullptr) TRY_OK(check_rules(*spec.rules, limits.vocabulary_size));
  return check_sampling(spec.sampling, limits.vocabulary_size);
}

}  // namespace kantha::gateway
