#include "bench/load/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kantha::bench {
namespace {

using testing::HasSubstr;

BenchOptions options() {
  BenchOptions o;
  o.targets.push_back(parse_target("http://127.0.0.1:8000").value());
  return o;
}

TEST(ParseTarget, TakesNamesUrlsAndUnixSockets) {
  const auto plain = parse_target("http://127.0.0.1:8000/v1/");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->name, "http://127.0.0.1:8000/v1/");
  EXPECT_EQ(plain->endpoint.to_string(), "127.0.0.1:8000");
  const auto named = parse_target("ours=http://127.0.0.1:8000");
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named->name, "ours");
  EXPECT_EQ(named->url, "http://127.0.0.1:8000");
  const auto odd = parse_target("a/b=c=http://127.0.0.1:8000");
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->name, "a/b=c");
  const auto short_form = parse_target("x=127.0.0.1:8000");
  ASSERT_TRUE(short_form.ok());
  EXPECT_EQ(short_form->name, "x");
  const auto unix_socket = parse_target("u=unix:/run/a=b.sock");
  ASSERT_TRUE(unix_socket.ok());
  EXPECT_EQ(unix_socket->endpoint.unix_path, "/run/a=b.sock");
}

TEST(ParseTarget, NamesTheFlagWhenItIsNoUrl) {
  for (const char* text : {"", "nonsense", "x=", "https://h:1", "http://h:99999"}) {
    const auto target = parse_target(text);
    ASSERT_FALSE(target.ok()) << text;
    EXPECT_THAT(target.error().message, HasSubstr("--url")) << text;
  }
}

TEST(CompleteOptions, FillsInAHundredRequestsOneAtATime) {
  BenchOptions o = options();
  ASSERT_TRUE(complete_options(o).ok());
  EXPECT_EQ(o.requests, 100);
  EXPECT_EQ(o.concurrency, 1);
  EXPECT_EQ(o.round_count(), 1);
  o = options();
  o.rate_per_s = 2;
  o.duration_s = 30;
  ASSERT_TRUE(complete_options(o).ok());
  EXPECT_EQ(o.requests, 0);
  EXPECT_EQ(o.concurrency, 0);
}

TEST(CompleteOptions, ComparesInFiveRounds) {
  BenchOptions o = options();
  o.targets.push_back(parse_target("other=http://127.0.0.1:8001").value());
  ASSERT_TRUE(complete_options(o).ok());
  EXPECT_EQ(o.round_count(), 5);
}

TEST(CompleteOptions, ATraceIsAsLongAsItIsOrCut) {
  BenchOptions o = options();
  o.trace.resize(7);
  ASSERT_TRUE(complete_options(o).ok());
  EXPECT_EQ(o.requests, 7);
  o = options();
  o.trace.resize(7);
  o.requests = 3;
  ASSERT_TRUE(complete_options(o).ok());
  EXPECT_EQ(o.requests, 3);
}

struct Case {
  const char* name;
  void (*set)(BenchOptions&);
  std::vector<const char*> flags;
};

TEST(CompleteOptions, ImpossibleCombinationsNameBothFlags) {
  const std::vector<Case> cases = {
      {"closed and open",
       [](BenchOptions& o) { o.concurrency = 2, o.rate_per_s = 1; },
       {"--concurrency", "--rate"}},
      {"closed and trace",
       [](BenchOptions& o) { o.concurrency = 2, o.trace.resize(1); },
       {"--concurrency", "--trace"}},
      {"rate and trace",
       [](BenchOptions& o) { o.rate_per_s = 2, o.trace.resize(1); },
       {"--rate", "--trace"}},
      {"trace in rounds",
       [](BenchOptions& o) { o.trace.resize(9), o.rounds = 2; },
       {"--trace", "--rounds"}},
      {"trace and duration",
       [](BenchOptions& o) { o.trace.resize(9), o.duration_s = 2; },
       {"--trace", "--duration"}},
      {"whole and ttft",
       [](BenchOptions& o) { o.is_stream = false, o.slo = Slo{.ttft_ms = 1}; },
       {"--whole", "--slo ttft"}},
      {"whole and itl",
       [](BenchOptions& o) { o.is_stream = false, o.slo = Slo{.itl_ms = 1}; },
       {"--whole", "--slo itl"}},
      {"whole and tpot",
       [](BenchOptions& o) { o.is_stream = false, o.slo = Slo{.tpot_ms = 1}; },
       {"--whole", "--slo tpot"}},
      {"fewer requests than rounds",
       [](BenchOptions& o) { o.requests = 3, o.rounds = 4; },
       {"--requests 3", "--rounds 4"}},
      {"equal names", [](BenchOptions& o) { o.targets.push_back(o.targets.front()); }, {"--url"}},
  };
  for (const Case& c : cases) {
    BenchOptions o = options();
    c.set(o);
    const Status status = complete_options(o);
    ASSERT_FALSE(status.ok()) << c.name;
    for (const char* flag : c.flags) EXPECT_THAT(status.error().message, HasSubstr(flag)) << c.name;
  }
}

}  // namespace
}  // namespace kantha::bench
