#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/sim/sim_world.h"

/// F43 and F54: many objects on the simulated cluster.
///   KANTHA_SIM_OBJECTS=10000   how many in F54 (default 2000)
namespace kantha::sim {
namespace {

using namespace std::chrono_literals;

WorldOptions large() {
  WorldOptions options;
  options.server.renders_managed_fields = false;
  options.limits.writes_per_minute_each = 200;
  options.nodes.pods_each = 10'000;
  return options;
}

void expect_idle(SimWorld& world, Duration span) {
  world.checks().mark();
  world.run_for(span);
  EXPECT_EQ(world.checks().writes_since_mark(), 0) << world.report();
}

TEST(Scale, F43AnIdleHourOfAThousandObjectsCostsNoWrite) {
  SimWorld world(large());
  world.start_operator();
  for (int i = 0; i < 1000; ++i) world.create_serving(fmt::format("n{}", i), {{"replicas", 1}});
  ASSERT_TRUE(world.settle(2min)) << world.report();
  EXPECT_TRUE(world.is_available("n999")) << world.report();
  expect_idle(world, 1h);
  // Neither does a new operator write anything.
  world.current().stop();
  world.run_for(10s);
  world.start_operator();
  expect_idle(world, 1h);
  world.checks().check_end();
  EXPECT_TRUE(world.checks().failures().empty()) << world.report();
}

TEST(Scale, F54AColdStartOnManyObjects) {
  const char* text = std::getenv("KANTHA_SIM_OBJECTS");
  const int count = text == nullptr ? 2000 : std::atoi(text);
  SimWorld world(large());
  for (int i = 0; i < count; ++i) world.create_serving(fmt::format("n{}", i), {{"replicas", 1}});
  world.start_operator();
  const TimePoint begin = world.now();
  ASSERT_TRUE(world.settle(1min, 1h));
  for (int i = 0; i < count; ++i) EXPECT_TRUE(world.is_available(fmt::format("n{}", i))) << i;
  const double seconds = std::chrono::duration<double>(world.now() - begin).count() - 60;
  const double writes = static_cast<double>(world.checks().our_writes()) / count;
  fmt::print("{} objects: available after {:.0f} s at most, {:.2f} writes each\n", count, seconds,
             writes);
  EXPECT_LE(writes, 11.01) << "few writes for each object are what scale is made of";
  // A cold start on what is there already writes nothing.
  world.current().stop();
  world.run_for(10s);
  world.start_operator();
  ASSERT_TRUE(world.run_until([&] { return world.current().real().is_ready(); }, 60s));
  expect_idle(world, 10min);
}

}  // namespace
}  // namespace kantha::sim
