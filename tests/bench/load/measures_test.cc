#include "bench/load/measures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/load/request_logs.h"

namespace kantha::bench {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Measures measured(const Phase& phase, MeasureOptions options = {}) {
  return measure({&phase, 1}, options);
}

TEST(Measure, RatesAreTokensAndRequestsOverTheWindow) {
  const Phase phase =
      phase_of({answered(0, {100, 200}, 1000, 30, 50), answered(0, {300, 400}, 2000, 10, 30)});
  const Measures m = measured(phase);
  EXPECT_EQ(m.ok, 2U);
  EXPECT_DOUBLE_EQ(m.window_s, 2);
  EXPECT_DOUBLE_EQ(*m.requests_per_s, 1);
  EXPECT_DOUBLE_EQ(*m.output_tokens_per_s, 20);
  EXPECT_DOUBLE_EQ(*m.total_tokens_per_s, 60);
  EXPECT_DOUBLE_EQ(m.ttft_ms->p50, 200);
  EXPECT_TRUE(m.invalid.empty());
}

TEST(Measure, WindowsOfSeveralRoundsAddUp) {
  const std::vector<Phase> phases = {phase_of({answered(0, {1, 2}, 1000, 30)}),
                                     phase_of({answered(0, {1, 2}, 3000, 10)})};
  const Measures m = measure(phases, {});
  EXPECT_DOUBLE_EQ(m.window_s, 4);
  EXPECT_DOUBLE_EQ(*m.output_tokens_per_s, 10);
}

TEST(Measure, FailuresAreCountedByKindAndLeaveTheLatenciesAlone) {
  const Phase phase =
      phase_of({answered(0, {100, 200}, 1000, 2), failed(0, 5, Outcome::kStatus, 429),
                failed(0, 5, Outcome::kStatus, 429), failed(0, 9000, Outcome::kTimeout)});
  const Measures m = measured(phase);
  EXPECT_EQ(m.failed, 3U);
  EXPECT_EQ(m.failures.at("http_429"), 2U);
  EXPECT_EQ(m.failures.at("timeout"), 1U);
  EXPECT_EQ(m.first_errors.at("timeout"), "it went wrong");
  EXPECT_DOUBLE_EQ(m.e2e_ms->max, 1000);
}

TEST(Measure, ResentRequestsAreCountedHoweverTheyEnded) {
  RequestLog answered_late = answered(0, {100, 200}, 1000, 2);
  RequestLog failed_again = failed(0, 5, Outcome::kConnect);
  answered_late.was_resent = failed_again.was_resent = true;
  const Measures m =
      measured(phase_of({answered_late, failed_again, answered(0, {100, 200}, 1000, 2)}));
  EXPECT_EQ(m.resent, 2U);
  EXPECT_EQ(m.sent, 3U);
  EXPECT_EQ(m.failed, 1U);
}

TEST(Measure, NothingThatSucceededGivesNoFiguresAndIsInvalid) {
  const Measures m = measured(phase_of({failed(0, 0, Outcome::kConnect)}));
  EXPECT_FALSE(m.requests_per_s.has_value());
  EXPECT_FALSE(m.output_tokens_per_s.has_value());
  EXPECT_FALSE(m.ttft_ms.has_value());
  EXPECT_THAT(m.invalid, Contains("no request succeeded"));
  EXPECT_THAT(measured(Phase{}).invalid, Contains("no request succeeded"));
}

TEST(Measure, WithoutUsageTokensAreUnknownAndSaidToBe) {
  RequestLog log = answered(0, {1, 2, 3}, 1000, 3);
  log.usage.reset();
  const Measures m = measured(phase_of({log, answered(0, {1, 2, 3}, 1000, 3)}));
  EXPECT_FALSE(m.output_tokens_per_s.has_value());
  EXPECT_FALSE(m.total_tokens_per_s.has_value());
  EXPECT_TRUE(m.requests_per_s.has_value());
  EXPECT_THAT(m.warnings, Contains(HasSubstr("1 of 2 answers gave no usage")));
}

TEST(Measure, ChunksOfSeveralTokensAreSaid) {
  const Measures m = measured(phase_of({answered(0, {1, 20, 30}, 40, 12)}));
  EXPECT_DOUBLE_EQ(*m.tokens_per_chunk, 4);
  EXPECT_THAT(m.warnings, Contains(HasSubstr("a chunk carries 4.00 tokens")));
  EXPECT_THAT(measured(phase_of({answered(0, {1, 20, 30}, 40, 3)})).warnings, IsEmpty());
}

TEST(Measure, ChunksThatCameInOneReadAreSaid) {
  RequestLog log = answered(0, {1, 1, 2}, 4, 3);
  log.coalesced = 1;
  EXPECT_THAT(measured(phase_of({log})).warnings, Contains(HasSubstr("33 % of the chunks")));
}

TEST(Measure, GoodputCountsFailuresAndDroppedArrivalsAsMissed) {
  Phase phase = phase_of({answered(0, {100, 110}, 1000, 2), answered(0, {900, 910}, 1000, 2),
                          failed(0, 10, Outcome::kStatus, 500)});
  phase.dropped = 1;
  const Measures m = measured(phase, {.slo = Slo{.ttft_ms = 500}});
  EXPECT_DOUBLE_EQ(*m.goodput_share, 0.25);
  EXPECT_DOUBLE_EQ(*m.goodput_per_s, 1);
}

TEST(LittlesLaw, HoldsForAnHonestLog) {
  // Three requests of 1, 2 and 3 s in a window of 4 s: L = 6/4.
  const Measures m = measured(phase_of(
      {answered(0, {1}, 1000, 1), answered(500, {501}, 2500, 1), answered(1000, {1001}, 4000, 1)}));
  EXPECT_NEAR(m.little.in_flight_mean, 1.5, 1e-9);
  EXPECT_NEAR(m.little.arrivals_per_s, 0.75, 1e-9);
  EXPECT_NEAR(m.little.latency_mean_s, 2, 1e-9);
  EXPECT_NEAR(m.little.deviation, 0, 1e-9);
  EXPECT_TRUE(m.little.holds);
}

TEST(LittlesLaw, BreaksAndInvalidatesTheRunWhenRequestsWereSentLate) {
  // Due at 0, but the driver counted it as in flight only from 100 ms on.
  Phase phase = phase_of({answered(0, {150}, 1000, 1)});
  phase.in_flight_s -= 0.1;
  const Measures m = measured(phase);
  EXPECT_NEAR(m.little.deviation, 0.1, 1e-9);
  EXPECT_FALSE(m.little.holds);
  EXPECT_THAT(m.invalid, Contains(HasSubstr("Little's law does not hold")));
}

TEST(LittlesLaw, AllowsFivePercent) {
  Phase phase = phase_of({answered(0, {150}, 1000, 1)});
  phase.in_flight_s = 0.951;
  EXPECT_TRUE(measured(phase).little.holds);
  phase.in_flight_s = 0.949;
  EXPECT_FALSE(measured(phase).little.holds);
}

TEST(Measure, DroppedArrivalsMakeTheRunInvalid) {
  Phase phase = phase_of({answered(0, {1}, 10, 1)});
  phase.dropped = 3;
  EXPECT_THAT(measured(phase).invalid, Contains(HasSubstr("3 of 4 arrivals were not sent")));
}

TEST(Measure, ABacklogThatGrowsInAnOpenLoopIsSaid) {
  Phase growing;
  Phase steady;
  for (int i = 0; i < 60; ++i) {
    const double due = i * 100;
    growing = phase_of([&] {
      growing.requests.push_back(answered(due, {due + 1}, due + 100 + i * 50, 1));
      return growing.requests;
    }());
    steady = phase_of([&] {
      steady.requests.push_back(answered(due, {due + 1}, due + 300, 1));
      return steady.requests;
    }());
  }
  growing.was_open_loop = steady.was_open_loop = true;
  EXPECT_THAT(measured(growing).warnings, Contains(HasSubstr("the backlog grew")));
  EXPECT_THAT(measured(steady).warnings, Not(Contains(HasSubstr("the backlog grew"))));
}

TEST(Measure, AClientThatWasTheBottleneckIsSaid) {
  Phase phase = phase_of({answered(0, {1, 2}, 1000, 2)});
  phase.client_cpu_s = 0.9;
  phase.lag_ms = {0.1, 0.2, 40, 50};
  const Measures m = measured(phase);
  EXPECT_DOUBLE_EQ(m.client_cpu_share, 0.9);
  EXPECT_THAT(m.warnings, Contains(HasSubstr("the client used 90 %")));
  EXPECT_THAT(m.warnings, Contains(HasSubstr("timer ran 49.7 ms late")));
}

TEST(Measure, ALagThatIsSmallBesideWhatWasMeasuredIsNotSaid) {
  Phase phase = phase_of({answered(0, {2000, 4000}, 6000, 2)});
  phase.lag_ms = {0.1, 0.2, 40, 50};
  EXPECT_THAT(measured(phase).warnings, IsEmpty());
}

TEST(Measure, LateSendsOfAnOpenLoopAreReported) {
  RequestLog late = answered(0, {100}, 200, 1);
  late.sent = ms(60);
  Phase phase = phase_of({late});
  phase.was_open_loop = true;
  const Measures m = measured(phase);
  EXPECT_NEAR(m.late_ms->max, 60, 1e-6);
  EXPECT_THAT(m.warnings, Contains(HasSubstr("requests were sent late")));
}

TEST(Measure, CutOffRequestsAreNeitherSuccessNorFailure) {
  Phase phase = phase_of({answered(0, {1}, 10, 1), failed(0, 10, Outcome::kCancelled)});
  phase.was_interrupted = true;
  const Measures m = measured(phase);
  EXPECT_EQ(m.failed, 0U);
  EXPECT_EQ(m.cancelled, 1U);
  EXPECT_THAT(m.invalid, IsEmpty());
  EXPECT_THAT(m.warnings, Contains(HasSubstr("interrupted: 1 requests were cut off")));
}

}  // namespace
}  // namespace kantha::bench
