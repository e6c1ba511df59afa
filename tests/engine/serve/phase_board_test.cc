#include "engine/serve/phase_board.h"

#include <gtest/gtest.h>

#include "engine/api/openai_error.h"

namespace kantha::serve {
namespace {

gateway::EngineStats stats_of(std::int32_t running, std::int64_t steps) {
  gateway::EngineStats stats;
  stats.requests_running = running;
  stats.steps_total = steps;
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

TEST(StallWatch, WorkWithoutStepsIsAStall) {
  StallWatch watch(std::chrono::seconds(60));
  const TimePoint start{};
  EXPECT_FALSE(watch.observe(stats_of(1, 5), start));
  EXPECT_FALSE(watch.observe(stats_of(1, 5), start + std::chrono::seconds(59)));
  EXPECT_TRUE(watch.observe(stats_of(1, 5), start + std::chrono::seconds(61)));
  EXPECT_FALSE(watch.observe(stats_of(1, 6), start + std::chrono::seconds(62)));
}

TEST(StallWatch, AnIdleEngineNeverStallsHoweverLong) {
  StallWatch watch(std::chrono::seconds(60));
  const TimePoint start{};
  watch.observe(stats_of(0, 5), start);
  EXPECT_FALSE(watch.observe(stats_of(0, 5), start + std::chrono::hours(1)));
  EXPECT_FALSE(watch.observe(stats_of(1, 5), start + std::chrono::hours(1)));
}

}  // namespace
}  // namespace kantha::serve
