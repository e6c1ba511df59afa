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
    const Clock& clock = system_clock();
    double best = 1e9;
    std::vector<SampledToken> sampled;
    for (int round = 0; round < 100; ++round) {
      const TimePoint begin = clock.now();
      const StepPlan& plan = scheduler_->schedule(now_);
      const double us = std::chrono::duration<double, std::micro>(clock.now() - begin).count();
      best = std::min(best, us);
      sampled.assign(plan.grants.size(), SampledToken{.token = 1});
      scheduler_->commit(sampled);
    }
    return best;
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

}  // namespace
}  // namespace kantha::sched
