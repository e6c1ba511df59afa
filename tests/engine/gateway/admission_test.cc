#include "engine/gateway/admission.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace kantha::gateway {
namespace {

EngineLimits limits() {
  return {.context_max = 100,
          .pool_tokens = 80,
          .vocabulary_size = 50,
          .requests_queued_max = 4,
          .prompt_tokens_queued_max = 1000};
}

sched::GenerateSpec spec() {
  sched::GenerateSpec spec;
  spec.prompt = {1, 2, 3};
  spec.max_tokens = 10;
  return spec;
}

std::shared_ptr<const sched::LogitRules> rules(sched::LogitRules given) {
  return std::make_shared<const sched::LogitRules>(std::move(given));
}

TEST(Admission, ScoringAPromptNeedsNoOutputAndAnEngineThatCan) {
  sched::GenerateSpec scored = spec();
  scored.prompt.assign(80, 1);
  scored.prompt_logprobs = 0;
  scored.max_tokens = 0;
  EXPECT_EQ(check_spec(limits(), scored).error().code, Code::kUnimplemented);
  EngineLimits able = limits();
  able.score_rows_max = 1;
  EXPECT_TRUE(check_spec(able, scored).ok()) << "as long as the pool";
}

TEST(Admission, RefusesWhatCanNeverRunAndNamesTheField) {
  using sched::GenerateSpec;
  struct Case {
    const char* name;
    std::function<void(GenerateSpec&)> change;
    const char* field;
    const char* says;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Case cases[] = {
      {"no prompt", [](GenerateSpec& s) { s.prompt.clear(); }, "prompt", "at least one token"},
      {"a prompt token beyond the vocabulary", [](GenerateSpec& s) { s.prompt[1] = 50; }, "prompt",
       "[0, 49], got 50"},
      {"a negative token", [](GenerateSpec& s) { s.prompt[0] = -1; }, "prompt", "got -1"},
      {"max_tokens -1", [](GenerateSpec& s) { s.max_tokens = -1; }, "max_tokens", "got -1"},
      {"prompt_logprobs beyond the vocabulary", [](GenerateSpec& s) { s.prompt_logprobs = 51; },
       "prompt_logprobs", "[-1, 50]"},
      {"typical_p 0", [](GenerateSpec& s) { s.sampling.typical_p = 0; }, "typical_p", "(0, 1]"},
      {"an allowed id beyond the vocabulary",
       [](GenerateSpec& s) { s.rules = rules({.allowed = {1, 50}}); }, "allowed_token_ids",
       "got 50"},
      {"a bias beyond the vocabulary",
       [](GenerateSpec& s) { s.rules = rules({.bias = {{-1, 1}}}); }, "logit_bias", "got -1"},
      {"a bad word beyond the vocabulary",
       [](GenerateSpec& s) { s.rules = rules({.bad_words = {{1, 99}}}); }, "bad_words", "got 99"},
      {"a bad word of nothing", [](GenerateSpec& s) { s.rules = rules({.bad_words = {{}}}); },
       "bad_words", "at least one"},
      {"repetition_penalty NaN",
       [=](GenerateSpec& s) { s.rules = rules({.repetition_penalty = nan}); }, "repetition_penalty",
       "nan"},
      {"min_tokens over max_tokens", [](GenerateSpec& s) { s.min_tokens = 11; }, "min_tokens",
       "[0, 10], got 11"},
      {"more resumed than max_tokens", [](GenerateSpec& s) { s.resumed.assign(11, 1); }, "resumed",
       "at most 10"},
      {"a stop id beyond the vocabulary", [](GenerateSpec& s) { s.stop_token_ids = {70}; },
       "stop_token_ids", "got 70"},
      {"temperature 2.5", [](GenerateSpec& s) { s.sampling.temperature = 2.5F; }, "temperature",
       "[0, 2]"},
      {"temperature NaN", [=](GenerateSpec& s) { s.sampling.temperature = nan; }, "temperature",
       "nan"},
      {"top_p 0", [](GenerateSpec& s) { s.sampling.top_p = 0; }, "top_p", "(0, 1]"},
      {"top_k -1", [](GenerateSpec& s) { s.sampling.top_k = -1; }, "top_k", "got -1"},
      {"min_p 1", [](GenerateSpec& s) { s.sampling.min_p = 1; }, "min_p", "[0, 1)"},
      {"logprobs -2", [](GenerateSpec& s) { s.sampling.logprobs = -2; }, "logprobs", "got -2"},
  };
  for (const Case& c : cases) {
    sched::GenerateSpec bad = spec();
    c.change(bad);
    const Status status = check_spec(limits(), bad);
    ASSERT_FALSE(status.ok()) << c.name;
    EXPECT_EQ(status.error().code, Code::kInvalidArgument) << c.name;
    EXPECT_EQ(status.error().field, c.field) << c.name;
    EXPECT_NE(status.error().message.find(c.says), std::string::npos)
        << c.name << ": " << status.error().message;
  }
  EXPECT_TRUE(check_spec(limits(), spec()).ok());
}

TEST(Admission, ALengthThatCannotFitIsRefusedWithBothNumbers) {
  struct Case {
    const char* name;
    std::size_t prompt;
    std::int32_t max_tokens;
    const char* number;  ///< nullptr: accepted
  };
  const Case cases[] = {
      {"fits exactly", 30, 50, nullptr},
      {"one more than the pool", 30, 51, "81"},
      {"the window bounds what max_tokens can ask", 30, 1000, "100"},
      {"a prompt as long as the context leaves no room", 100, 1, "100"},
      {"a huge max_tokens does not overflow", 3, 2147483647, "100"},
  };
  for (const Case& c : cases) {
    sched::GenerateSpec long_one = spec();
    long_one.prompt.assign(c.prompt, 1);
    long_one.max_tokens = c.max_tokens;
    const Status status = check_spec(limits(), long_one);
    EXPECT_EQ(status.ok(), c.number == nullptr) << c.name;
    if (c.number == nullptr || status.ok()) continue;
    EXPECT_EQ(status.error().reason, "context_length_exceeded") << c.name;
    EXPECT_NE(status.error().message.find(c.number), std::string::npos) << c.name;
    EXPECT_NE(status.error().message.find(std::to_string(c.prompt)), std::string::npos) << c.name;
  }
}

TEST(Admission, AFullQueueSaysWhenToComeBack) {
  struct Case {
    const char* name;
    QueueNumbers queue;
    std::int64_t tokens;
    std::int64_t retry_after_ms;  ///< 0: accepted
  };
  const Case cases[] = {
      {"an empty queue takes anything", {0, 0, 0}, 5000, 0},
      {"room for one more", {3, 900, 100}, 100, 0},
      {"too many requests, rate unknown", {4, 40, 0}, 1, 1000},
      {"too many tokens, at 100 a second", {1, 950, 100}, 51, 9500},
      {"never sooner than 100 ms", {4, 4, 1e6}, 1, 100},
      {"never later than a minute", {4, 1000, 0.001}, 1, 60'000},
  };
  for (const Case& c : cases) {
    const Status status = check_queue(limits(), c.queue, {.prompt_tokens = c.tokens});
    EXPECT_EQ(status.ok(), c.retry_after_ms == 0) << c.name;
    if (status.ok()) continue;
    EXPECT_EQ(status.error().code, Code::kResourceExhausted) << c.name;
    EXPECT_EQ(status.error().retry_after_ms, c.retry_after_ms) << c.name;
  }
}

TEST(Admission, RequestsOnTheWayCountAsIfTheyWaited) {
  struct Case {
    const char* name;
    QueueNumbers queue;
    QueueDemand demand;
    bool refused;
  };
  const Case cases[] = {
      {"alone", {}, {5000, 0, 0}, false},
      {"the fifth on its way to a queue of four", {}, {1, 4, 4}, true},
      {"the fourth", {}, {1, 3, 3}, false},
      {"the tokens ahead fill the queue", {}, {51, 950, 1}, true},
      {"all of them start in the next step",
       {.starts_left = 5, .start_tokens_left = 64},
       {1, 40, 4},
       false},
      {"one start too few", {.starts_left = 4, .start_tokens_left = 64}, {1000, 40, 4}, true},
      {"the tokens ahead fill the step",
       {.starts_left = 9, .start_tokens_left = 40},
       {1000, 40, 4},
       true},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(!check_queue(limits(), c.queue, c.demand).ok(), c.refused) << c.name;
  }
}

TEST(Admission, TheQueueTakesWhatTheTargetTimeAllows) {
  EngineLimits derived = limits();
  derived.prompt_tokens_queued_max = 0;
  derived.ttft_target = std::chrono::seconds(4);
  EXPECT_EQ(prompt_tokens_queued_max(derived, 250), 1000);
  EXPECT_EQ(prompt_tokens_queued_max(derived, 2), 100) << "at least one full context";
  EXPECT_EQ(prompt_tokens_queued_max(derived, 0), 1 << 20) << "not measured yet";
  EXPECT_EQ(prompt_tokens_queued_max(limits(), 250), 1000) << "a configured bound stays";
  const QueueNumbers queue{.requests_waiting = 1, .tokens_waiting = 900, .tokens_per_second = 250};
  EXPECT_TRUE(check_queue(derived, queue, {.prompt_tokens = 100}).ok());
  const Status refused = check_queue(derived, queue, {.prompt_tokens = 101});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("1000"), std::string::npos) << refused.error().message;
}

EngineStats busy(std::int32_t running, std::int32_t waiting) {
  EngineStats stats;
  stats.blocks_total = 10;
  stats.blocks_active = 4;
  stats.block_size = 16;
  stats.step_tokens_budget = 40;
  stats.requests_running = running;
  stats.requests_waiting = waiting;
  return stats;
}

TEST(Admission, TheNextStepStartsWhatHasASlotAndStorageAndIsWithinItsBudget) {
  EngineLimits slots = limits();
  slots.sequences_max = 3;
  EXPECT_EQ(StepStarts(slots, busy(1, 0)).left(), 2);
  EXPECT_EQ(StepStarts(slots, busy(3, 0)).left(), 0) << "no slot";
  EXPECT_EQ(StepStarts(slots, busy(1, 1)).left(), 0) << "somebody was left waiting";
  StepStarts starts(slots, busy(0, 0));
  EXPECT_FALSE(starts.take(97)) << "96 tokens of storage";
  EXPECT_TRUE(starts.take(30));
  EXPECT_TRUE(starts.take(30)) << "the last one may be cut by the budget";
  EXPECT_FALSE(starts.take(1)) << "the budget is spent";
}

TEST(EngineStats, PressureIsDemandOverPool) {
  EngineStats stats;
  EXPECT_DOUBLE_EQ(stats.kv_pressure(), 0);
  stats.blocks_total = 10;
  stats.blocks_active = 8;
  stats.blocks_cached = 2;
  stats.block_size = 16;
  stats.waiting_tokens = 80;
  EXPECT_DOUBLE_EQ(stats.kv_pressure(), 1.3);
}

}  // namespace
}  // namespace kantha::gateway
