#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "engine/exec/engine_loop.h"
#include "tests/fake/event_recorder.h"
#include "tests/fake/fake_forward.h"

/// An engine loop on a fake forward, driven turn by turn on the test's own thread.
namespace kantha::exec {

inline constexpr TokenId kEnd = 0;
inline constexpr std::int32_t kVocabulary = 48;

inline EngineOptions small_options(std::int32_t blocks, std::int32_t block_size) {
  EngineOptions options;
  options.kv = {.block_size = block_size, .block_count = blocks};
  options.context_max = 200;
  options.sequences_max = 8;
  options.step_tokens_max = 32;
  options.end_tokens = {kEnd};
  return options;
}

class LoopBench {
 public:
  explicit LoopBench(EngineOptions options,
                     std::function<TokenId(std::span<const TokenId>)> next = {})
      : inbox_(limits_of(options, kVocabulary, /*hidden_size=*/2)),
        loop_(std::make_unique<fake::FakeForward>(fake::FakeForwardOptions{
                  .kv = options.kv,
                  .groups = options.kv_groups,
                  .vocabulary = kVocabulary,
                  .rows_max = options.step_tokens_max,
                  .logit_rows_max = options.sequences_max + options.score_rows_max,
                  .next = std::move(next)}),
              options, clock_, inbox_) {
    set_log_level(LogLevel::kError);  // preemption is what many tests are about
  }

  Status submit(sched::GenerateSpec spec, TimePoint now = {}) {
    return inbox_.submit(std::move(spec), recorder_, now);
  }
  void abort(RequestId id) { inbox_.abort(id); }
  bool turn() { return loop_.turn(Duration::zero()); }
  /// Turns until nothing is open; false when that takes more than `turns_max`.
  bool drain(int turns_max = 100'000) {
    turn();
    while (!loop_.idle() && turns_max-- > 0) turn();
    return loop_.idle();
  }
  gateway::EngineStats stats() const { return inbox_.stats(); }
  fake::Received of(RequestId id) const { return recorder_->of(id); }
  fake::EventRecorder& recorder() { return *recorder_; }
  EngineLoop& loop() { return loop_; }
  FakeClock& clock() { return clock_; }
  gateway::Inbox& inbox() { return inbox_; }

 private:
  FakeClock clock_;
  std::shared_ptr<fake::EventRecorder> recorder_ = std::make_shared<fake::EventRecorder>();
  gateway::Inbox inbox_;
  EngineLoop loop_;
};

}  // namespace kantha::exec
