#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "engine/exec/forward.h"
#include "engine/gateway/engine_port.h"

/// The one thread that owns sched, cache and exec.
namespace kantha::exec {

struct EngineOptions {
  KvShape kv;
  std::int32_t context_max = 0;     ///< maxModelLen: tokens of prompt + output
  std::int32_t sequences_max = 64;  ///< running at once (maxNumSeqs)
  /// Rows of logits in one step that score prompts, beside those of running sequences; the Forward
  /// has as many. 0: prompts are not scored.
  std::int32_t score_rows_max = 0;
  std::int32_t step_tokens_max = 256;  ///< token budget of one step; ≤ the Forward's rows_max
  bool prefix_caching = true;
  bool foresight = true;  ///< start only what is expected to end without preempting
  /// Of the model's layers; an EngineThread takes them from its Forward.
  std::vector<cache::KvGroup> kv_groups = {cache::KvGroup{}};
  std::int32_t requests_queued_max = 1024;
  std::int64_t prompt_tokens_queued_max = 0;  ///< 0: from ttft_target and the rate
  /// Longest pause between two tokens of a stream that a step may cause; zero: 1.6 times a step
  /// that only decodes (sched/step_budget.h).
  Duration itl_target{};
  /// How long a prompt may wait for its prefill: bounds the queue where prompt_tokens_queued_max
  /// is 0.
  Duration ttft_target = std::chrono::seconds(30);
  std::vector<TokenId> end_tokens;  ///< end a generation unless ignore_eos
};

/// Runs admit → schedule → build → forward → sample → commit for ever on a thread of its own.
/// Construction checks the options (CHECK on bugs); the thread runs from start to stop.
class EngineThread final : public gateway::EnginePort {
 public:
  EngineThread(std::unique_ptr<Forward> forward, EngineOptions options, const Clock& clock);
  ~EngineThread() override;  ///< stop()

  /// Runs a few small steps on the calling thread, so that the first request finds a warm engine
  /// (EngineLoop::warm_up). Before start, or not at all.
  void warm_up();
  void start();
  /// Ends every open request with FinishReason::kAbort and joins the thread.
  void stop();

  gateway::EngineLimits limits() const override;
  Status precheck(gateway::QueueDemand demand) const override;
  Status submit(sched::GenerateSpec spec, std::shared_ptr<sched::EventSink> sink) override;
  void abort(RequestId id) override;
  gateway::EngineStats stats() const override;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace kantha::exec
