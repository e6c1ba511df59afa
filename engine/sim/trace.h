#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "engine/sim/histogram.h"

/// What happened in one simulated run.
namespace kantha::sim {

enum class Outcome : std::uint8_t {
  kDone,
  kRefused,   ///< the queue was full (429)
  kTooLong,   ///< can never fit (400)
  kDeadline,  ///< its own deadline passed
};
inline constexpr std::size_t kOutcomeCount = 4;

/// One request; index as in the workload. Times are virtual, from TimePoint{}.
struct RequestRecord {
  TimePoint queued{};
  TimePoint started{};      ///< when it first left the waiting line
  TimePoint first_token{};  ///< valid when output_tokens > 0
  TimePoint last_token{};
  TimePoint end{};
  std::int32_t output_tokens = 0;
  std::int32_t preemptions = 0;
  Outcome outcome = Outcome::kDone;
};

/// One step, kept when RunOptions::keep_steps.
struct StepRecord {
  TimePoint begin{};
  Duration cost{};
  std::int32_t rows = 0;
  std::int32_t output_rows = 0;
  std::int32_t running = 0;  ///< after the step's starts
  std::int32_t waiting = 0;
  std::int32_t blocks_active = 0;
};

struct Trace {
  std::vector<RequestRecord> requests;
  std::vector<StepRecord> steps;
  std::int64_t step_count = 0;
  Duration busy{};       ///< sum of the steps
  TimePoint finished{};  ///< end of the last step
  Histogram itl;         ///< seconds between two tokens of one request
  /// Of reserved KV what holds nothing, by the time it stood so after a step.
  Histogram waste{1e-4};
  std::int64_t rows = 0;  ///< tokens computed, padding included
  std::int64_t padding_rows = 0;
  std::int64_t recomputed_rows = 0;  ///< of rows: computed before and lost in a preemption
  std::int64_t preemptions = 0;
  std::int64_t prefix_queries = 0;  ///< tokens
  std::int64_t prefix_hits = 0;
};

/// Called with (request, when) for each output token, in order of time.
using TokenObserver = std::function<void(std::int32_t, TimePoint)>;

}  // namespace kantha::sim
