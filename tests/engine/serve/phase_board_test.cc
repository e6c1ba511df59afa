#include "engine/serve/phase_board.h"

#include <gtest/gtest.h>

#include "engine/api/openai_error.h"

namespace kantha::serve {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

gateway::EngineStats stats_of(std::int32_t running, std::int64_t steps, double step_seconds = 0) {
  gateway::EngineStats stats;
  stats.requests_running = running;
  stats.steps_total = steps;
  stats.step_seconds_total = step_seconds;
  return stats;
}

TEST(PhaseBoard, AdmitsOnlyWhenReady) {
  FakeClock clock;
  PhaseBoard board(clock);
  EXPECT_EQ(board.admit().error().reason, api::kReasonLoading);
  board.report("mapping weights");
  EXPECT_NE(board.admit().error().message.find("mapping weights"), std::string::npos);
  board.set_ready();
  EXPECT_TRUE(board.admit().ok());
  board.set_draining();
  EXPECT_EQ(board.admit().error().reason, api::kReasonDraining);
  board.set_ready();  // a boot that ends during a drain changes nothing
  EXPECT_EQ(board.phase(), Phase::kDraining);
}

TEST(PhaseBoard, ProgressOnlyRises) {
  FakeClock clock;
  PhaseBoard board(clock);
  board.plan(2);
  board.report("mapping weights");
  EXPECT_EQ(board.progress().index, 1);
  board.report("packing", 30, "layers");
  board.advance(7, 30);
  EXPECT_EQ(board.step(), "packing (7 of 30 layers)");
  board.advance(3, 30);
  EXPECT_EQ(board.progress().done, 7) << "what is behind is ignored";
  board.advance(31, 30);
  EXPECT_EQ(board.progress().done, 30);
  EXPECT_EQ(board.progress().index, 2);
  board.set_ready();
  EXPECT_EQ(board.progress().step, "ready");
  EXPECT_EQ(board.progress().index, 2);
  EXPECT_EQ(board.progress().count, 2);
}

TEST(StallWatch, WorkWithoutStepsIsAStall) {
  StallWatch watch;
  const TimePoint start{};
  EXPECT_FALSE(watch.observe(stats_of(1, 5), start));
  EXPECT_FALSE(watch.observe(stats_of(1, 5), start + seconds(59)));
  EXPECT_TRUE(watch.observe(stats_of(1, 5), start + seconds(61))) << "no step was ever seen";
  EXPECT_FALSE(watch.observe(stats_of(1, 6), start + seconds(62)));
}

TEST(StallWatch, TheLimitFollowsTheUsualStep) {
  struct Case {
    const char* name;
    double step_seconds;
    seconds limit;
  };
  for (const Case& c : {Case{"quick steps: never below ten seconds", 0.01, seconds(10)},
                        Case{"slow steps: twenty of them", 2, seconds(40)}}) {
    SCOPED_TRACE(c.name);
    StallWatch watch;
    TimePoint now{};
    watch.observe(stats_of(1, 0, 0), now);
    watch.observe(stats_of(1, 10, 10 * c.step_seconds), now);
    EXPECT_EQ(std::chrono::round<seconds>(watch.limit()), c.limit);
    EXPECT_FALSE(watch.observe(stats_of(1, 10, 10 * c.step_seconds), now + c.limit - seconds(1)));
    EXPECT_TRUE(watch.observe(stats_of(1, 10, 10 * c.step_seconds), now + c.limit + seconds(1)));
  }
}

TEST(StallWatch, AnIdleEngineNeverStallsHoweverLong) {
  StallWatch watch;
  const TimePoint start{};
  watch.observe(stats_of(0, 5), start);
  EXPECT_FALSE(watch.observe(stats_of(0, 5), start + hours(1)));
  EXPECT_FALSE(watch.observe(stats_of(1, 5), start + hours(1)));
}

TEST(StallWatch, AStallIsSeenAtTheFirstLookWhenTheEngineTellsItsTimes) {
  gateway::EngineStats stats = stats_of(1, 100, 1);
  stats.busy_since = TimePoint{} + seconds(100);
  stats.last_step = TimePoint{} + seconds(200);
  EXPECT_FALSE(StallWatch().observe(stats, TimePoint{} + seconds(209)));
  EXPECT_TRUE(StallWatch().observe(stats, TimePoint{} + seconds(211)));
}

TEST(StallWatch, TimeCountsFromTheFirstOpenRequest) {
  StallWatch watch;
  const TimePoint start{};
  watch.observe(stats_of(1, 5), start);
  gateway::EngineStats busy = stats_of(1, 5);
  busy.busy_since = start + hours(1);  // idle in between, unseen
  EXPECT_FALSE(watch.observe(busy, start + hours(1) + seconds(30)));
  EXPECT_TRUE(watch.observe(busy, start + hours(1) + seconds(61)));
}

}  // namespace
}  // namespace kantha::serve
