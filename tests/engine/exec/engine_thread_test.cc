#include "engine/exec/engine_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/engine/exec/loop_bench.h"

namespace kantha::exec {
namespace {

std::unique_ptr<EngineThread> make_engine(const EngineOptions& options) {
  set_log_level(LogLevel::kError);
  return std::make_unique<EngineThread>(
      std::make_unique<fake::FakeForward>(
          fake::FakeForwardOptions{.kv = options.kv,
                                   .vocabulary = kVocabulary,
                                   .rows_max = options.step_tokens_max,
                                   .logit_rows_max = options.sequences_max}),
      options, system_clock());
}

sched::GenerateSpec endless(std::uint64_t id, std::int32_t max_tokens) {
  sched::GenerateSpec spec;
  spec.id = {id};
  spec.prompt = {1, 2, 3, static_cast<TokenId>(id % 40)};
  spec.sampling.seed = id;
  spec.max_tokens = max_tokens;
  spec.ignore_eos = true;
  return spec;
}

TEST(EngineThread, RunsARequestFromSubmitToItsEnd) {
  const auto engine = make_engine(small_options(64, 4));
  engine->start();
  const auto recorder = std::make_shared<fake::EventRecorder>();
  ASSERT_TRUE(engine->submit(endless(1, 20), recorder).ok());
  ASSERT_TRUE(recorder->wait_finished(1));
  EXPECT_EQ(recorder->of({1}).tokens.size(), 20U);
  EXPECT_EQ(engine->stats().requests_running, 0) << "numbers are there before the last event";
  EXPECT_EQ(engine->stats().finished_total[static_cast<int>(sched::FinishReason::kLength)], 1);
}

TEST(EngineThread, RefusesByLimitsWithNumbers) {
  EngineOptions options = small_options(64, 4);
  options.requests_queued_max = 1;
  options.sequences_max = 1;
  const auto engine = make_engine(options);  // not started
  const auto recorder = std::make_shared<fake::EventRecorder>();
  ASSERT_TRUE(engine->submit(endless(1, 5), recorder).ok()) << "would start in the next step";
  ASSERT_TRUE(engine->submit(endless(2, 5), recorder).ok()) << "waits";
  const Status full = engine->submit(endless(3, 5), recorder);
  EXPECT_EQ(full.error().code, Code::kResourceExhausted);
  EXPECT_GT(full.error().retry_after_ms, 0);
  EXPECT_EQ(engine->precheck({10}).error().code, Code::kResourceExhausted);
  engine->stop();
  EXPECT_EQ(recorder->finished(), 2U) << "those that were queued are told";
  EXPECT_EQ(engine->precheck({1}).error().code, Code::kUnavailable);
}

TEST(EngineThread, StopEndsOpenRequestsAndCanBeCalledTwice) {
  const auto engine = make_engine(small_options(64, 4));
  engine->start();
  const auto recorder = std::make_shared<fake::EventRecorder>();
  for (std::uint64_t id = 1; id <= 20; ++id) {
    ASSERT_TRUE(engine->submit(endless(id, 150), recorder).ok());
  }
  ASSERT_TRUE(recorder->wait_tokens({1}, 3));
  engine->stop();
  engine->stop();
  EXPECT_EQ(recorder->finished(), 20U);
  EXPECT_EQ(engine->stats().requests_running + engine->stats().requests_waiting, 0);
  EXPECT_EQ(engine->stats().blocks_active, 0);
}

/// Holds every step until it is let through.
class HeldForward final : public Forward {
 public:
  explicit HeldForward(std::atomic<bool>& held, std::atomic<bool>& inside)
      : held_(held), inside_(inside) {}
  void run(const Batch&, std::span<float> logits) override {
    inside_ = true;
    while (held_) std::this_thread::yield();
    inside_ = false;
    std::ranges::fill(logits, 0.0F);
  }
  void copy_block(BlockId, BlockId) override {}
  std::int32_t vocabulary_size() const override { return kVocabulary; }
  std::int32_t rows_max() const override { return 64; }
  std::int32_t logit_rows_max() const override { return 64; }

 private:
  std::atomic<bool>& held_;
  std::atomic<bool>& inside_;
};

TEST(EngineThread, AnswersAndQueuesWhileAStepIsStuck) {
  std::atomic<bool> held = true;
  std::atomic<bool> inside = false;
  EngineThread engine(std::make_unique<HeldForward>(held, inside), small_options(64, 4),
                      system_clock());
  engine.start();
  const auto recorder = std::make_shared<fake::EventRecorder>();
  ASSERT_TRUE(engine.submit(endless(1, 100), recorder).ok());
  while (!inside) std::this_thread::yield();
  // The step is stuck; none of these waits for it.
  EXPECT_TRUE(engine.precheck({100}).ok());
  ASSERT_TRUE(engine.submit(endless(2, 100), recorder).ok());
  ASSERT_TRUE(engine.submit(endless(3, 100), recorder).ok());
  const gateway::EngineStats stats = engine.stats();
  EXPECT_EQ(stats.requests_waiting, 3) << "the first one's step has not ended";
  EXPECT_EQ(stats.waiting_tokens, 12);
  engine.abort({2});
  held = false;
  ASSERT_TRUE(recorder->wait_finished(3));
  EXPECT_EQ(recorder->of({2}).finish, sched::FinishReason::kAbort);
  EXPECT_TRUE(recorder->of({2}).tokens.empty());
  EXPECT_EQ(recorder->of({3}).tokens.size(), 100U);
}

TEST(EngineThread, SurvivesManySubmittersAborterReadersAndAStopInTheMiddle) {
  EngineOptions options = small_options(/*blocks=*/60, /*block_size=*/4);
  options.requests_queued_max = 10;
  const auto engine = make_engine(options);
  engine->start();
  constexpr int kSubmitters = 4;
  std::vector<std::shared_ptr<fake::EventRecorder>> recorders;
  std::vector<std::size_t> accepted(kSubmitters, 0);
  std::atomic<int> refused = 0;
  std::atomic<int> busy = kSubmitters;
  std::vector<std::thread> threads;
  for (int t = 0; t < kSubmitters; ++t) {
    recorders.push_back(std::make_shared<fake::EventRecorder>());
    threads.emplace_back([&, t, sink = recorders.back()] {
      for (std::uint64_t i = 1; i <= 150; ++i) {
        const std::uint64_t id = static_cast<std::uint64_t>(t) * 1000 + i;
        const auto submit = [&] {
          return engine->submit(endless(id, 1 + static_cast<int>(i % 30)), sink);
        };
        Status status = submit();
        for (; !status.ok() && status.error().code == Code::kResourceExhausted; status = submit()) {
          ++refused;
          std::this_thread::yield();
        }
        if (!status.ok()) break;  // stopped
        ++accepted[static_cast<std::size_t>(t)];
        if (i % 3 == 0) engine->abort({id});
      }
      --busy;
    });
  }
  threads.emplace_back([&] {
    while (busy > 0) {
      const gateway::EngineStats stats = engine->stats();
      EXPECT_EQ(stats.blocks_active + stats.blocks_cached + stats.blocks_free, 60);
      EXPECT_LE(stats.requests_running, 8);
      std::this_thread::yield();
    }
  });
  threads.emplace_back([&] {
    EXPECT_TRUE(recorders[0]->wait_finished(60));
    engine->stop();
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(refused, 0);
  std::size_t total = 0;
  for (std::size_t t = 0; t < recorders.size(); ++t) {
    EXPECT_EQ(recorders[t]->finished(), accepted[t]) << "accepted ones end exactly once";
    EXPECT_FALSE(recorders[t]->after_finish());
    total += accepted[t];
  }
  const gateway::EngineStats stats = engine->stats();
  EXPECT_EQ(stats.requests_running + stats.requests_waiting, 0);
  EXPECT_EQ(stats.blocks_active, 0);
  EXPECT_EQ(static_cast<std::size_t>(stats.finished_total[0] + stats.finished_total[1] +
                                     stats.finished_total[2] + stats.finished_total[3]),
            total);
}

}  // namespace
}  // namespace kantha::exec
