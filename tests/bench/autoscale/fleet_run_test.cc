#include "bench/autoscale/fleet_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace kantha::autoscale {
namespace {

/// Two hours at noon of a small service, with a burst now and then.
std::vector<Arrival> noon() {
  DayShape shape;
  shape.length_s = 7200;
  shape.night_per_s = 3;
  shape.day_per_s = 3;
  shape.bursts = 5;
  shape.burst_factor = 6;
  return day_of_traffic(shape);
}

TEST(DayOfTraffic, IsSortedBurstyAndTheSameForASeed) {
  const std::vector<Arrival> day = noon();
  ASSERT_GT(day.size(), 20'000U);
  EXPECT_TRUE(std::is_sorted(day.begin(), day.end(),
                             [](const auto& a, const auto& b) { return a.at_s < b.at_s; }));
  std::vector<int> minutes(120, 0);
  for (const Arrival& one : day) ++minutes[static_cast<std::size_t>(one.at_s / 60)];
  EXPECT_GT(*std::max_element(minutes.begin(), minutes.end()),
            4 * *std::min_element(minutes.begin(), minutes.end()));
  const std::vector<Arrival> again = noon();
  ASSERT_EQ(again.size(), day.size());
  EXPECT_EQ(again.back().at_s, day.back().at_s);
}

TEST(SimulatedPod, AnIdlePodAnswersAtOnceAndTimeIsTheCostModels) {
  SimulatedPod pod({}, 0);
  pod.take({.prompt_left = 100, .prompt_tokens = 100, .output_left = 11, .output_tokens = 11});
  std::vector<Outcome> done;
  EXPECT_NEAR(pod.pressure(), 100.0 / 12'288, 1e-9) << "demanded, before it began";
  pod.run_until(10, done);
  ASSERT_EQ(done.size(), 1U);
  // Steps of 64 and 36 rows, the second one with logits, and the keys that they read.
  EXPECT_NEAR(done[0].wait_s, 2 * 0.0053 + 100 * 0.00047 + 0.00045 + 0.0015, 0.0001);
  EXPECT_NEAR(done[0].per_token_s, 0.0063, 0.0005);
  EXPECT_EQ(pod.occupancy(), 0) << "everything is given back";
  EXPECT_NEAR(pod.take_busy_s(), done[0].wait_s + 10 * done[0].per_token_s, 1e-6);
}

TEST(SimulatedPod, WhatWaitsCountsBeyondTheTopOfTheGauge) {
  SimulatedPod pod({}, 0);
  for (int i = 0; i < 100; ++i) {
    pod.take({.prompt_left = 500, .prompt_tokens = 500, .output_left = 400, .output_tokens = 400});
  }
  std::vector<Outcome> done;
  pod.run_until(5, done);
  EXPECT_LE(pod.occupancy(), 1);
  EXPECT_GT(pod.pressure(), 3);
  const std::size_t waiting = pod.waiting();
  EXPECT_EQ(pod.drain().size(), waiting);
  pod.run_until(40, done);
  EXPECT_TRUE(pod.is_empty()) << "what runs is finished";
}

/// All four through the same two hours, and what each did, for people.
struct Four {
  explicit Four(const PodShape& pod, double pressure_target) {
    const std::vector<Arrival> day = noon();
    FleetShape shape;
    shape.pod = pod;
    pressure = run_day(day, {Signal::kPressure, pressure_target}, shape);
    gauge = run_day(day, {Signal::kGauge, pressure_target}, shape);
    cpu = run_day(day, {Signal::kCpu, 0.7}, shape);
    queue = run_day(day, {Signal::kQueueDepth, 5}, shape);
    for (const FleetReport* one : {&pressure, &gauge, &cpu, &queue}) {
      EXPECT_EQ(one->requests, static_cast<std::int64_t>(day.size())) << "nobody is forgotten";
      std::printf("good %.1f %%, pod-hours %.1f, most %ld\n", 100 * share(*one), one->pod_hours,
                  static_cast<long>(one->most_pods));
    }
  }
  static double share(const FleetReport& one) {
    return static_cast<double>(one.good) / static_cast<double>(one.requests);
  }
  FleetReport pressure;
  FleetReport gauge;
  FleetReport cpu;
  FleetReport queue;
};

TEST(FleetRun, WhereTheKvCacheEndsFirstPressureServesMoreWithAFractionOfThePods) {
  const Four four(kv_bound_engine(), 0.7);
  EXPECT_GT(Four::share(four.pressure), Four::share(four.gauge) + 0.05);
  EXPECT_GT(Four::share(four.pressure), Four::share(four.queue));
  EXPECT_LT(four.pressure.pod_hours, four.queue.pod_hours);
  EXPECT_LT(four.pressure.pod_hours, four.cpu.pod_hours / 2);
  EXPECT_GT(four.cpu.good, four.pressure.good) << "who always has spare pods misses no burst";
}

TEST(FleetRun, WhereComputingEndsFirstBusyTimeSeesItAndPressureNeedsALowTarget) {
  const Four late(two_core_engine(), 0.7);
  const Four early(two_core_engine(), 0.1);
  EXPECT_GT(early.pressure.good, late.pressure.good);
  EXPECT_GT(early.pressure.good, early.queue.good);
  EXPECT_LT(early.pressure.pod_hours, early.cpu.pod_hours);
  EXPECT_GT(early.cpu.good, early.pressure.good);
}

TEST(FleetRun, IsTheSameForTheSameDay) {
  const std::vector<Arrival> day = noon();
  const FleetReport one = run_day(day, {Signal::kPressure, 0.5}, {});
  const FleetReport two = run_day(day, {Signal::kPressure, 0.5}, {});
  EXPECT_EQ(one.good, two.good);
  EXPECT_EQ(one.pod_hours, two.pod_hours);
  EXPECT_GT(one.changes, 5);
}

}  // namespace
}  // namespace kantha::autoscale
