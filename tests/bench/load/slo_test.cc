#include "bench/load/slo.h"

#include <gtest/gtest.h>

#include "tests/bench/load/request_logs.h"

namespace kantha::bench {
namespace {

TEST(ParseSlo, ReadsEveryLimit) {
  const Result<Slo> slo = parse_slo("ttft:300,itl:50,tpot:40.5,e2e:9000");
  ASSERT_TRUE(slo.ok());
  EXPECT_EQ(slo->ttft_ms, 300);
  EXPECT_EQ(slo->itl_ms, 50);
  EXPECT_EQ(slo->tpot_ms, 40.5);
  EXPECT_EQ(slo->e2e_ms, 9000);
}

TEST(ParseSlo, ShowsThePartAtFault) {
  for (const char* text : {"", "ttft", "ttft:", "ttft:x", "ttft:0", "ttft:-1", "ttft:inf",
                           "ttft:1e999", "speed:3", "ttft:300,,itl:50", "ttft:300 ", "ttft:300,"}) {
    const Result<Slo> slo = parse_slo(text);
    ASSERT_FALSE(slo.ok()) << text;
    EXPECT_EQ(slo.error().code, Code::kInvalidArgument) << text;
    EXPECT_TRUE(slo.error().message.starts_with("--slo: expected ttft, itl, tpot or e2e")) << text;
  }
}

TEST(Latencies, CountFromWhenTheRequestWasDue) {
  RequestLog log = answered(100, {350, 400, 470}, 480, 4);
  log.sent = ms(150);
  EXPECT_NEAR(*ttft_ms(log), 250, 1e-6);
  EXPECT_NEAR(e2e_ms(log), 380, 1e-6);
  EXPECT_NEAR(*tpot_ms(log), 120.0 / 3, 1e-6);
  const std::vector<double> gaps = itl_ms(log);
  ASSERT_EQ(gaps.size(), 2U);
  EXPECT_NEAR(gaps[0], 50, 1e-6);
  EXPECT_NEAR(gaps[1], 70, 1e-6);
}

TEST(Latencies, AreAbsentWhereTheyCannotBeKnown) {
  RequestLog log = answered(0, {10, 20}, 30, 2);
  log.usage.reset();
  EXPECT_FALSE(tpot_ms(log).has_value());
  log = answered(0, {10}, 30, 1);
  EXPECT_FALSE(tpot_ms(log).has_value());
  log = answered(0, {}, 30, 5);
  EXPECT_FALSE(ttft_ms(log).has_value());
}

TEST(Meets, HoldsEachLimit) {
  const RequestLog log = answered(0, {100, 140, 180}, 200, 3);
  EXPECT_TRUE(meets(log, {}));
  EXPECT_TRUE(meets(log, {.ttft_ms = 100, .itl_ms = 40, .tpot_ms = 40, .e2e_ms = 200}));
  EXPECT_FALSE(meets(log, {.ttft_ms = 99}));
  EXPECT_FALSE(meets(log, {.itl_ms = 39}));
  EXPECT_FALSE(meets(log, {.tpot_ms = 39}));
  EXPECT_FALSE(meets(log, {.e2e_ms = 199}));
}

TEST(Meets, NoLimitIsKeptByAFailureOrByAnUnknownFigure) {
  EXPECT_FALSE(meets(failed(0, 1, Outcome::kBroken), {}));
  EXPECT_FALSE(meets(answered(0, {}, 10, 3), {.ttft_ms = 1000}));
  EXPECT_FALSE(meets(answered(0, {}, 10, 3), {.itl_ms = 1000}));
}

TEST(Meets, AnAnswerOfOneTokenHasNoGapToMiss) {
  EXPECT_TRUE(meets(answered(0, {5}, 10, 1), {.itl_ms = 1, .tpot_ms = 1}));
}

}  // namespace
}  // namespace kantha::bench
