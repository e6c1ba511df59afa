#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/gateway/engine_port.h"
#include "engine/sched/generate_spec.h"

/// Refuses before work is done: pure checks of a request against limits and queue numbers.
namespace kantha::gateway {

/// What waits now.
struct QueueNumbers {
  std::int64_t requests_waiting = 0;
  std::int64_t tokens_waiting = 0;
  double tokens_per_second = 0;  ///< measured rate of computed tokens; 0 = not known yet
};

/// May `prompt_tokens` more be queued? A single request may always wait alone, however long.
/// kResourceExhausted names both numbers; retry_after_ms is the time that the engine needs for what
/// waits at its measured rate, within [100 ms, 60 s].
Status check_queue(const EngineLimits& limits, const QueueNumbers& queue,
                   std::int64_t prompt_tokens);

/// Can this request ever run? kInvalidArgument names the field, the value and the limit; reason
/// "context_length_exceeded" when it is too long for the context or for the whole KV pool.
Status check_spec(const EngineLimits& limits, const sched::GenerateSpec& spec);

}  // namespace kantha::gateway
