#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "engine/sched/generate_spec.h"
#include "engine/sched/token_event.h"

/// The only door between the I/O threads and the engine thread.
namespace kantha::gateway {

/// How many tokens steps computed, by size; vLLM's buckets.
struct StepSizes {
  static constexpr std::array<std::int32_t, 13> kBounds{1,   8,    16,   32,   64,   128,  256,
                                                        512, 1024, 2048, 4096, 8192, 16384};
  std::array<std::int64_t, kBounds.size() + 1> counts{};  ///< the last one above all bounds
  std::int64_t tokens = 0;                                ///< of all steps

  void add(std::int64_t step_tokens);
};

/// Live numbers of one engine, read from its structures when asked (never event-cached).
struct EngineStats {
  std::int64_t blocks_total = 0;
  std::int64_t blocks_active = 0;   ///< referenced by a running request
  std::int64_t blocks_cached = 0;   ///< content kept, evictable
  std::int64_t blocks_free = 0;     ///< total - active - cached
  std::int32_t block_size = 16;     ///< tokens per block
  std::int64_t waiting_tokens = 0;  ///< prompt tokens of requests not yet admitted
  std::int32_t requests_running = 0;
  std::int32_t requests_waiting = 0;
  std::int64_t prompt_tokens_total = 0;
  std::int64_t generation_tokens_total = 0;
  std::int64_t prefix_queries_total = 0;  ///< tokens looked up, once per request
  std::int64_t prefix_hits_total = 0;     ///< tokens found
  std::int64_t preemptions_total = 0;
  std::int64_t recomputed_tokens_total = 0;
  std::int64_t finished_total[sched::kFinishReasonCount] = {};  ///< by FinishReason
  std::int64_t steps_total = 0;
  StepSizes step_sizes;
  /// Monotonic time of the last finished step. With work pending, an old one means a stall if
  /// `busy_since` is old too: after idle hours the last step is hours ago.
  TimePoint last_step{};
  TimePoint busy_since{};  ///< since when some request has been open; zero: none is
  /// Time in steps, waits for input excluded; the forward pass is a part of it, the rest is the
  /// engine thread's own. Without the step that is running.
  double step_seconds_total = 0;
  double forward_seconds_total = 0;

  /// KV storage that running requests have reserved, in tokens, and how much of it is filled.
  std::int64_t kv_tokens_reserved = 0;
  std::int64_t kv_tokens_used = 0;
  std::int64_t block_copies_total = 0;     ///< copy-on-write and part hits
  std::int64_t forks_total = 0;            ///< samples that shared a sibling's prompt
  std::int64_t shared_waits_total = 0;     ///< requests that waited for a prefix being computed
  std::int64_t part_hit_tokens_total = 0;  ///< of prefix_hits_total, from parts of blocks
  // Step budget and measured rates (sched/step_budget.h).
  std::int32_t step_tokens_budget = 0;        ///< tokens that the next step may compute
  double prefill_tokens_per_second = 0;       ///< 0 = not known yet
  double decode_step_seconds = 0;             ///< of a step with the decodes that run now
  std::int64_t prompt_tokens_queued_max = 0;  ///< what the queue takes now

  /// KV pressure = active/total + waiting_tokens/(total · block size); may exceed 1.
  double kv_pressure() const;
};

/// Bounds that the door checks a request against before it is tokenised or queued.
struct EngineLimits {
  std::int32_t context_max = 0;  ///< tokens of prompt + output (maxModelLen)
  std::int64_t pool_tokens = 0;  ///< tokens of one request that the whole KV pool can hold
  std::int32_t vocabulary_size = 0;
  std::int32_t requests_queued_max = 0;  ///< waiting requests
  /// Waiting prompt tokens; 0: what can be computed within ttft_target at the measured rate.
  std::int64_t prompt_tokens_queued_max = 0;
  Duration ttft_target = std::chrono::seconds(30);
  std::int32_t score_rows_max = 0;  ///< 0: no prompt can be scored (GenerateSpec::prompt_logprobs)
  std::int32_t hidden_size = 0;     ///< 0: hidden states are not told (GenerateSpec::pooling)
  std::int32_t sequences_max = 0;  ///< running at once; 0: unknown, every request counts as waiting
};

/// What a request would add to the queue, and what is before it on the way there.
struct QueueDemand {
  std::int64_t prompt_tokens = 0;
  std::int64_t tokens_ahead = 0;  ///< of requests that are still being prepared
  std::int64_t requests_ahead = 0;
};

/// Implemented by the engine thread's owner and by fakes in tests. All methods are thread-safe and
/// return at once.
class EnginePort {
 public:
  virtual ~EnginePort() = default;
  virtual EngineLimits limits() const = 0;
  /// Would so much be queued now? kResourceExhausted with retry_after_ms when not. Called before
  /// template and tokenizer run, on an estimate.
  virtual Status precheck(QueueDemand demand) const = 0;
  /// Queues a request; its events go to `sink` until one of them has `finish`.
  /// kResourceExhausted: queue full (429). kInvalidArgument: can never fit, with both numbers
  /// (400). kUnavailable: draining or failed (503). After an error no event is sent.
  virtual Status submit(sched::GenerateSpec spec, std::shared_ptr<sched::EventSink> sink) = 0;
  /// Ends a request within one step; its last event has FinishReason::kAbort. Unknown ids are
  /// ignored.
  virtual void abort(RequestId id) = 0;
  virtual EngineStats stats() const = 0;
};

}  // namespace kantha::gateway
