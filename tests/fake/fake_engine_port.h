#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/gateway/engine_port.h"

/// An engine's door without an engine, for tests of what stands in front of it.
namespace kantha::fake {

/// What the fake answers to one request.
struct FakeReply {
  std::vector<TokenId> tokens = {};
  /// After the tokens; nullopt leaves the request open, as a busy engine would.
  std::optional<sched::FinishReason> finish = sched::FinishReason::kStop;
  std::optional<TokenId> end_token = {};  ///< comes with the finish
  std::string error = {};
  bool forbidden = false;           ///< the error is the request's own
  float logprob = -0.5F;            ///< of every token, when asked for
  std::vector<double> pooled = {};  ///< sums of hidden states, with the finish
  bool one_batch = false;           ///< all events in one call, as after a stall
};

/// A scripted EnginePort. Every request is played at submit by a thread of its own, so that events
/// come from a foreign thread. Aborted requests get their kAbort event. Thread-safe.
class FakeEnginePort final : public gateway::EnginePort {
 public:
  explicit FakeEnginePort(gateway::EngineLimits limits);
  ~FakeEnginePort() override;

  /// Chooses the answer to each request; called on the submitting thread.
  void on_submit(std::function<FakeReply(const sched::GenerateSpec&)> script);
  /// Answers to submit and precheck from now on; ok_status() for "take everything".
  void refuse(Status refusal, Status precheck_refusal);
  void set_stats(const gateway::EngineStats& stats);
  /// More tokens for an open request, and its end if `finish` is set.
  void emit(RequestId id, std::vector<TokenId> tokens, std::optional<sched::FinishReason> finish);

  std::vector<sched::GenerateSpec> submitted() const;
  std::vector<RequestId> aborted() const;
  std::size_t open_requests() const;
  gateway::QueueDemand last_precheck() const;

  gateway::EngineLimits limits() const override { return limits_; }
  Status precheck(gateway::QueueDemand demand) const override;
  Status submit(sched::GenerateSpec spec, std::shared_ptr<sched::EventSink> sink) override;
  void abort(RequestId id) override;
  gateway::EngineStats stats() const override;

 private:
  struct Open {
    std::shared_ptr<sched::EventSink> sink;
    std::int32_t prompt_tokens = 0;
    std::int32_t output_tokens = 0;
    std::int32_t logprobs = -1;
    float logprob = 0;
    /// Entry i: -0.25 (i + 1) for the prompt's token, 1 less for each id that follows it.
    std::shared_ptr<const sched::PromptScores> scores = {};
    TimePoint started{};
  };

  sched::TokenEvent token_event(RequestId id, Open& open, TokenId token) const;
  void play(RequestId id, const FakeReply& reply);
  void finish(RequestId id, const FakeReply& reply, std::vector<sched::TokenEvent>& events);
  void run(std::function<void()> work);

  const gateway::EngineLimits limits_;
  mutable std::mutex mutex_;
  std::function<FakeReply(const sched::GenerateSpec&)> script_;
  Status refusal_;
  Status precheck_refusal_;
  gateway::EngineStats stats_;
  std::map<std::uint64_t, Open> open_;
  std::vector<sched::GenerateSpec> submitted_;
  std::vector<RequestId> aborted_;
  mutable gateway::QueueDemand last_precheck_;
  struct Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace kantha::fake
