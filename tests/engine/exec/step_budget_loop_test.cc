#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/log.h"
#include "tests/engine/exec/loop_bench.h"

/// The loop measures its steps and keeps the next ones within the target.
namespace kantha::exec {
namespace {

/// A fake forward on a machine of 5 ms a step and 1 ms a row.
class SlowForward final : public Forward {
 public:
  SlowForward(fake::FakeForwardOptions options, FakeClock& clock)
      : fake_(std::move(options)), clock_(clock) {}

  void run(const Batch& batch, std::span<float> logits) override {
    fake_.run(batch, logits);
    clock_.advance(std::chrono::milliseconds(5 + batch.token_ids.size()));
  }
  void copy_block(BlockId from, BlockId to) override { fake_.copy_block(from, to); }
  std::int32_t vocabulary_size() const override { return fake_.vocabulary_size(); }
  std::int32_t rows_max() const override { return fake_.rows_max(); }
  std::int32_t logit_rows_max() const override { return fake_.logit_rows_max(); }

 private:
  fake::FakeForward fake_;
  FakeClock& clock_;
};

sched::GenerateSpec request(std::uint64_t id, std::size_t prompt, std::int32_t max_tokens) {
  sched::GenerateSpec spec;
  spec.id = {id};
  for (std::size_t i = 0; i < prompt; ++i) {
    spec.prompt.push_back(static_cast<TokenId>(1 + (i + id * 5) % (kVocabulary - 1)));
  }
  spec.max_tokens = max_tokens;
  spec.ignore_eos = true;
  return spec;
}

class StepBudgetLoop : public testing::Test {
 protected:
  void make(Duration itl_target) {
    set_log_level(LogLevel::kError);
    EngineOptions options = small_options(/*blocks=*/200, /*block_size=*/16);
    options.context_max = 2000;
    options.step_tokens_max = 128;
    options.itl_target = itl_target;
    inbox_ = std::make_unique<gateway::Inbox>(limits_of(options, kVocabulary));
    fake::FakeForwardOptions fake{.kv = options.kv, .vocabulary = kVocabulary, .rows_max = 128};
    loop_ = std::make_unique<EngineLoop>(std::make_unique<SlowForward>(fake, clock_), options,
                                         clock_, *inbox_);
  }
  void submit(sched::GenerateSpec spec) {
    ASSERT_TRUE(inbox_->submit(std::move(spec), recorder_).ok());
  }
  /// Longest of the next turns, in milliseconds.
  double longest(int turns) {
    double most = 0;
    for (int i = 0; i < turns; ++i) {
      const TimePoint begin = clock_.now();
      loop_->turn(Duration::zero());
      most =
          std::max(most, std::chrono::duration<double, std::milli>(clock_.now() - begin).count());
    }
    return most;
  }
  void run_among_decodes(double& before_ms, double& during_ms) {
    for (std::uint64_t id = 1; id <= 6; ++id) submit(request(id, 10, 300));
    longest(40);
    before_ms = longest(20);
    submit(request(7, 1000, 2));
    during_ms = longest(100);
  }

  FakeClock clock_;
  std::shared_ptr<fake::EventRecorder> recorder_ = std::make_shared<fake::EventRecorder>();
  std::unique_ptr<gateway::Inbox> inbox_;
  std::unique_ptr<EngineLoop> loop_;
};

TEST_F(StepBudgetLoop, ALongPromptAtMostDoublesThePausesOfOthers) {
  make({});
  double before = 0;
  double during = 0;
  run_among_decodes(before, during);
  EXPECT_EQ(before, 11);
  EXPECT_GT(during, 1.2 * before) << "the prompt is computed";
  EXPECT_LE(during, 2 * before);
}

TEST_F(StepBudgetLoop, ATargetIsKeptAndUsed) {
  make(std::chrono::milliseconds(50));
  double before = 0;
  double during = 0;
  run_among_decodes(before, during);
  EXPECT_GT(during, 40);
  EXPECT_LE(during, 55);
}

TEST_F(StepBudgetLoop, TheNumbersTellWhatWasMeasured) {
  make({});
  EXPECT_EQ(inbox_->stats().prefill_tokens_per_second, 0);
  double before = 0;
  double during = 0;
  run_among_decodes(before, during);
  const gateway::EngineStats stats = inbox_->stats();
  EXPECT_EQ(stats.prefill_tokens_per_second, 0) << "steps beside decodes are small";
  EXPECT_NEAR(stats.decode_step_seconds, (5 + stats.requests_running) / 1000.0, 0.003);
  EXPECT_GE(stats.step_tokens_budget, 6 + 1);
  EXPECT_LT(stats.step_tokens_budget, 40);
}

}  // namespace
}  // namespace kantha::exec
