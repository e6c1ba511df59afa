#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <vector>

#include "engine/sim/report.h"
#include "engine/sim/simulation.h"

/// What users of a shared engine are promised, on virtual time.
namespace kantha::sim {
namespace {

using namespace std::chrono_literals;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

/// Pauses between the tokens of the first `streams` requests, before and from `split` on.
struct Pauses {
  Quantiles before;
  Quantiles after;
};

Pauses pauses_of(const Workload& workload, RunOptions options, std::int32_t streams,
                 TimePoint split) {
  std::map<std::int32_t, TimePoint> last;
  std::vector<double> before;
  std::vector<double> after;
  options.on_token = [&](std::int32_t index, TimePoint at) {
    if (index >= streams) return;
    const auto found = last.find(index);
    if (found != last.end()) (at < split ? before : after).push_back(seconds(at - found->second));
    last[index] = at;
  };
  const auto trace = run(workload, {}, options);
  EXPECT_TRUE(trace.ok());
  return {quantiles(std::move(before)), quantiles(std::move(after))};
}

TEST(PromisesTest, OneLongPromptLeavesEightStreamsTheirPace) {
  const Workload streams = burst({fixed_length(800), fixed_length(1500)}, 8, 0s, 1);
  const Workload prompt = burst({fixed_length(6000), fixed_length(10)}, 1, 15s, 2);
  const Workload both = merged(streams, prompt);
  const Pauses pauses = pauses_of(both, {}, 8, TimePoint{} + 15s);
  // Without the step budget every step would be full.
  RunOptions unbounded;
  unbounded.itl_target = 10s;
  EXPECT_GT(pauses_of(both, unbounded, 8, TimePoint{} + 15s).after.p99, 5 * pauses.before.p50);
  std::printf("ITL before: p50 %.2f ms; after: p50 %.2f, p99 %.2f ms\n", pauses.before.p50 * 1e3,
              pauses.after.p50 * 1e3, pauses.after.p99 * 1e3);
  EXPECT_LE(pauses.after.p99, 2 * pauses.before.p50);
}

TEST(PromisesTest, ABurstBeyondTheQueueIsRefusedAndStreamsKeepTheirPace) {
  RunOptions options;
  options.sequences_max = 12;
  options.requests_queued_max = 16;
  options.itl_target = 25ms;
  const Workload streams = burst({fixed_length(100), fixed_length(1200)}, 8, 0s, 1);
  const Workload crowd = burst({fixed_length(100), fixed_length(50)}, 200, 5s, 2);
  const Workload both = merged(streams, crowd);
  const Pauses pauses = pauses_of(both, options, 8, TimePoint{} + 5s);
  const Trace trace = run(both, {}, options).value();
  const Report got = report(trace, {});
  EXPECT_EQ(got.outcomes[static_cast<std::size_t>(Outcome::kRefused)], 200 - 16);
  EXPECT_EQ(got.outcomes[static_cast<std::size_t>(Outcome::kDone)], 8 + 16);
  std::printf("ITL before: p50 %.2f ms; after: p50 %.2f, p99 %.2f ms\n", pauses.before.p50 * 1e3,
              pauses.after.p50 * 1e3, pauses.after.p99 * 1e3);
  EXPECT_LE(pauses.after.p99, 2 * pauses.before.p50);
}

TEST(PromisesTest, AQueueIsBoundedInPromptTokensToo) {
  RunOptions options;
  options.sequences_max = 1;
  options.prompt_tokens_queued_max = 1000;
  const Workload crowd = burst({fixed_length(300), fixed_length(5)}, 10, 0s, 2);
  const Report got = report(run(crowd, {}, options).value(), {});
  EXPECT_EQ(got.outcomes[static_cast<std::size_t>(Outcome::kRefused)], 7);
}

/// 5 users, 20 generations of about 12 s in each 90 s: by Little's law 20 · 12 / 90 = 2.7 at once.
TEST(PromisesTest, SlotsSizedByLittlesLawNeverPreempt) {
  const RequestShape shape{fixed_length(400), fixed_length(1110)};
  RunOptions options;
  options.sequences_max = 5;
  // What five of them hold at their end, and nothing more.
  options.block_count = 5 * ((400 + 1110) / 16 + 2);
  // Each user waits about 10 s between its generations: 4 × (12 + 10.5) s = 90 s.
  const Workload workload = closed_loop(shape, 5, 80, 10500ms, 1);
  const Report got = report(run(workload, {}, options).value(), {});
  std::printf("12 s: e2e %.2f s, in system %.2f, λ·90 s %.1f\n", got.e2e.mean, got.little.in_system,
              got.little.rate_per_second * 90);
  EXPECT_NEAR(got.e2e.mean, 12, 0.6);
  EXPECT_NEAR(got.little.rate_per_second * 90, 20, 1);
  EXPECT_NEAR(got.little.in_system, 2.67, 0.15);
  EXPECT_EQ(got.preemptions, 0);
  EXPECT_LT(got.wait.p99, 1);
}

}  // namespace
}  // namespace kantha::sim
