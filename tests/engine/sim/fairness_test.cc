#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "engine/sim/report.h"
#include "engine/sim/simulation.h"

/// Tenants, classes and deadlines in one engine.
namespace kantha::sim {
namespace {

using namespace std::chrono_literals;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

TEST(FairnessTest, AFloodOfOneTenantLeavesAnotherItsTurn) {
  RunOptions options;
  options.sequences_max = 8;
  options.requests_queued_max = 4000;
  Workload flood = burst({fixed_length(200), fixed_length(100)}, 1000, 0s, 1);
  flood.tenants = {"flood"};
  Workload quiet = poisson({fixed_length(200), fixed_length(100)}, 0.2, 20, 2);
  quiet.tenants = {"quiet"};
  const Trace trace = run(merged(flood, quiet), {}, options).value();
  std::vector<double> ttft;
  for (std::size_t i = 1000; i < 1020; ++i) {
    ttft.push_back(seconds(trace.requests[i].first_token - trace.requests[i].queued));
  }
  const Quantiles got = quantiles(ttft);
  std::printf("quiet tenant's TTFT: p50 %.3f, p99 %.3f s of %.0f s\n", got.p50, got.p99,
              seconds(trace.finished - TimePoint{}));
  EXPECT_LT(got.p99, 1) << "a slot falls free several times a second";
}

TEST(FairnessTest, ClassesShareByWeightWhileBothWait) {
  Workload batch = burst({fixed_length(100), fixed_length(100)}, 200, 0s, 1);
  for (Arrival& arrival : batch.arrivals) arrival.slo = sched::SloClass::kBatch;
  const Workload interactive = burst({fixed_length(100), fixed_length(100)}, 200, 0s, 2);
  RunOptions options;
  options.sequences_max = 8;
  const Trace trace = run(merged(batch, interactive), {}, options).value();
  TimePoint last_interactive{};
  for (std::size_t i = 200; i < 400; ++i) {
    last_interactive = std::max(last_interactive, trace.requests[i].end);
  }
  int batch_done = 0;
  for (std::size_t i = 0; i < 200; ++i) batch_done += trace.requests[i].end <= last_interactive;
  // Weights 8 and 1: of nine requests one is batch.
  EXPECT_NEAR(batch_done, 25, 10);
}

TEST(FairnessTest, DeadlinesEndRequestsWhereverTheyAre) {
  Workload workload = burst({fixed_length(10), fixed_length(1000)}, 3, 0s, 1);
  for (Arrival& arrival : workload.arrivals) arrival.timeout = 2s;
  RunOptions options;
  options.sequences_max = 2;
  for (const PolicyKind kind : {PolicyKind::kContinuous, PolicyKind::kStatic}) {
    const Trace trace = run(workload, {.kind = kind}, options).value();
    EXPECT_EQ(trace.requests[2].outcome, Outcome::kDeadline);
    EXPECT_EQ(trace.requests[2].output_tokens, 0);
  }
}

}  // namespace
}  // namespace kantha::sim
