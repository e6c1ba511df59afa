#include "noded/api/service_sample.h"

#include <gtest/gtest.h>

namespace kantha::noded {
namespace {

using namespace std::chrono_literals;

TEST(LatencySketch, QuantilesAreWithinAFewPercentAtEveryScale) {
  for (const Duration unit : {Duration(20us), Duration(1ms), Duration(1s)}) {
    LatencySketch sketch;
    for (int i = 1; i <= 1000; ++i) sketch.add(unit * i);
    for (const double p : {0.5, 0.95, 0.99}) {
      const double exact = std::chrono::duration<double>(unit).count() * 1000 * p;
      EXPECT_NEAR(sketch.quantile(p), exact, exact * 0.026);
    }
  }
}

TEST(LatencySketch, AddsSubtractsAndTravels) {
  LatencySketch early;
  early.add(10ms, 3);
  LatencySketch late = early;
  late.add(10ms);
  late.add(5h);
  late.add(0ns);
  const LatencySketch news = late.since(early);
  EXPECT_EQ(news.count(), 3);
  LatencySketch sum = early;
  sum.merge(news);
  EXPECT_EQ(sum, late);
  const auto back = LatencySketch::from_json(late.to_json());
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, late);
  EXPECT_EQ(early.since(late).count(), 0) << "another source";
}

TEST(LatencySketch, RefusesWhatIsNone) {
  for (const char* text :
       {"3", "[3]", "[[1,2,3]]", "[[1,0]]", "[[1,-2]]", "[[999999,1]]", "[[1,\"2\"]]"}) {
    EXPECT_FALSE(LatencySketch::from_json(Json::parse(text)).ok()) << text;
  }
}

TEST(ServiceSample, SurvivesItsJson) {
  ServiceSample sample;
  sample.answered = 12;
  sample.failed = 2;
  sample.first_token[prompt_class(65)].add(30ms);
  sample.first_token[prompt_class(1'000'000)].add(30s);
  sample.per_token[1].add(2ms);
  EXPECT_EQ(sample.first_token[2].count(), 1) << "65 to 128 tokens";
  EXPECT_EQ(sample.first_token[11].count(), 1) << "the longest";
  const auto back = service_sample_from_json(to_json(sample));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, sample);
  EXPECT_EQ(sample.since(sample), ServiceSample());
  const auto bad = service_sample_from_json({{"first_token", {{{1, -1}}}}});
  ASSERT_FALSE(bad.ok());
}

}  // namespace
}  // namespace kantha::noded
