#include <cstdio>

#include "base/clock.h"
#include "tests/engine/sched/scheduler_fixture.h"

/// What a step's schedule and commit cost the engine thread. Limits are wide, because test machines
/// are busy and builds are not optimised; the numbers are printed.
namespace kantha::sched {
namespace {

class ScheduleCost : public SchedulerTest {
 protected:
  /// Microseconds of one schedule() with `streams` that decode; the best of many rounds.
  double schedule_us(std::int32_t streams, std::int32_t waiting) {
    make(8000, options(streams, 512), true, 16);
    for (std::int32_t id = 1; id <= streams + waiting; ++id) {
      add(static_cast<std::uint64_t>(id), 100, 1500);
    }
    for (std::int32_t i = 0; i < 2 * streams; ++i) step();
    EXPECT_EQ(scheduler_->running_count(), streams);
    return schedule_times_us(100).front();
  }

  /// Sorted, of many rounds.
  std::vector<double> schedule_times_us(int rounds) {
    const Clock& clock = system_clock();
    std::vector<double> times;
    std::vector<SampledToken> sampled;
    for (int round = 0; round < rounds; ++round) {
      const TimePoint begin = clock.now();
      const StepPlan& plan = scheduler_->schedule(now_);
      times.push_back(std::chrono::duration<double, std::micro>(clock.now() - begin).count());
      sampled.assign(plan.grants.size(), SampledToken{.token = 1});
      scheduler_->commit(sampled);
    }
    std::ranges::sort(times);
    return times;
  }
};

TEST_F(ScheduleCost, SixtyFourStreamsWithNothingWaiting) {
  const double us = schedule_us(64, 0);
  std::printf("schedule() of 64 streams: %.2f us\n", us);
  EXPECT_LT(us, 100);
}

TEST_F(ScheduleCost, SixtyFourStreamsWithAThousandWaiting) {
  const double us = schedule_us(64, 1000);
  std::printf("schedule() of 64 streams with 1,000 waiting: %.2f us\n", us);
  EXPECT_LT(us, 100);
}

/// Prompts of 8,000 tokens that begin alike and find no room: long ones
/// are looked up in the cache again only now and then.
TEST_F(ScheduleCost, SixtyFourStreamsWithTwoHundredLongPromptsThatDoNotFit) {
  constexpr std::int32_t kStreams = 64;
  constexpr std::int32_t kPrompt = 8000;
  SchedulerOptions sizes = options(kStreams + 8, 512);
  sizes.foresight = false;
  make(/*blocks=*/kStreams * 32 + kPrompt / 16 + 60, sizes, true, 16);
  const std::vector<TokenId> head = request(1, kPrompt, 1).prompt;
  add(1, kPrompt, 1);
  while (!scheduler_->empty()) step();
  for (std::uint64_t id = 2; id < 2 + kStreams; ++id) add(id, 500, 1500);
  while (scheduler_->load().decodes < kStreams) step();
  for (std::uint64_t id = 100; id < 300; ++id) {
    GenerateSpec spec = request(id, 1, 10);
    spec.prompt.insert(spec.prompt.begin(), head.begin(), head.end());
    spec.tenant = std::to_string(id % 8);
    add(std::move(spec));
  }
  step();
  const std::vector<double> times = schedule_times_us(50);
  EXPECT_EQ(scheduler_->waiting_count(), 200);
  const double median = times[times.size() / 2];
  const double p90 = times[times.size() * 9 / 10];
  std::printf(
      "schedule() of 64 streams with 200 long prompts waiting: median %.2f us, p90 %.2f us\n",
      median, p90);
  EXPECT_LT(median, 100);
  EXPECT_LT(p90, 400) << "at most one look-up";
}

}  // namespace
}  // namespace kantha::sched
