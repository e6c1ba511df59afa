#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/gateway/engine_port.h"
#include "engine/sched/generate_spec.h"

/// Refuses before work is done: pure checks of a request against limits and queue numbers.
namespace kantha::gateway {

/// What waits now, without those that start in the very next step.
struct QueueNumbers {
  std::int64_t requests_waiting = 0;
  std::int64_t tokens_waiting = 0;
  double tokens_per_second = 0;        ///< measured rate of prefill; 0 = not known yet
  std::int64_t starts_left = 0;        ///< so many more would start in the next step …
  std::int64_t start_tokens_left = 0;  ///< … while they have less than so many tokens
};

/// What the next step can start: counts down while requests take their place in it.
class StepStarts {
 public:
  /// Nobody starts before those who were left waiting by the last step.
  StepStarts(const EngineLimits& limits, const EngineStats& last);
  /// Would a request of so many prompt tokens start too? Takes its place if so.
  bool take(std::int64_t prompt_tokens);
  std::int64_t left() const { return tokens_left() > 0 ? slots_ : 0; }
  std::int64_t tokens_left() const { return tokens_ < storage_ ? tokens_ : storage_; }

 private:
  std::int64_t slots_ = 0;
  std::int64_t tokens_ = 0;   ///< of the step's budget
  std::int64_t storage_ = 0;  ///< tokens of KV blocks that nobody holds
};

/// Prompt tokens that may wait: the configured bound, else what the engine computes within
/// ttft_target at `tokens_per_second`, at least one full context; before a rate is known, plenty.
std::int64_t prompt_tokens_queued_max(const EngineLimits& limits, double tokens_per_second);

/// May `demand` be queued? A single request may always wait alone, however long.
/// kResourceExhausted names both numbers; retry_after_ms is the time that the engine needs for what
/// waits at its measured rate, within [100 ms, 60 s].
Status check_queue(const EngineLimits& limits, const QueueNumbers& queue,
                   const QueueDemand& demand);

/// Can this request ever run? kInvalidArgument names the field, the value and the limit; reason
/// "context_length_exceeded" when it is too long for the context or for the whole KV pool.
Status check_spec(const EngineLimits& limits, const sched::GenerateSpec& spec);

}  // namespace kantha::gateway
