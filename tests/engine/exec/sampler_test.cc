#include "engine/exec/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "base/rng.h"
#include "tests/engine/exec/plain_sampling.h"

namespace kantha::exec {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> random_row(std::size_t count, std::uint64_t seed, float spread) {
  std::vector<float> row;
  for (std::size_t i = 0; i < count; ++i) {
    // A sum of uniforms: bell-shaped, as logits are.
    double sum = 0;
    for (std::uint64_t k = 0; k < 6; ++k) sum += random_unit(seed, i * 6 + k) - 0.5;
    row.push_back(static_cast<float>(sum) * spread);
  }
  return row;
}

sched::SamplingParams params(float temperature, std::uint64_t seed = 1) {
  sched::SamplingParams sampling;
  sampling.temperature = temperature;
  sampling.seed = seed;
  return sampling;
}

sched::SampledToken sample(std::vector<float> row, const sched::SamplingParams& sampling,
                           DrawPoint point = {}) {
  Sampler sampler;
  return sampler.sample({.logits = row}, sampling, point);
}

std::vector<std::size_t> best_first(const std::vector<float>& row) {
  std::vector<std::size_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return row[a] != row[b] ? row[a] > row[b] : a < b;
  });
  return order;
}

std::vector<double> plain_distribution(const std::vector<float>& row,
                                       const sched::SamplingParams& sampling) {
  return exec::plain_distribution(std::vector<double>(row.begin(), row.end()), sampling);
}

TEST(Sampler, GreedyTakesTheBestAndTheLowestOfEquals) {
  for (const float temperature : {0.0F, 1e-30F, 9e-6F}) {
    EXPECT_EQ(sample({1, 3, 2}, params(temperature)).token, 1);
    EXPECT_EQ(sample({1, 3, 3, 3}, params(temperature)).token, 1);
    EXPECT_EQ(sample({-kInfinity, -5, -kInfinity}, params(temperature)).token, 1);
    EXPECT_EQ(
        sample({-kInfinity, -kInfinity, std::numeric_limits<float>::lowest()}, params(temperature))
            .token,
        2);
  }
  for (const std::size_t count : {1U, 15U, 16U, 63U, 64U, 65U, 1000U, 49152U}) {
    std::vector<float> row = random_row(count, count, 4);
    for (const std::size_t place : {std::size_t{0}, count / 2, count - 1}) {
      std::vector<float> marked = row;
      marked[place] = 100;
      EXPECT_EQ(sample(marked, params(0)).token, static_cast<TokenId>(place)) << count;
    }
  }
}

TEST(Sampler, SettingsThatLeaveOneTokenAreGreedy) {
  const std::vector<float> row = random_row(5000, 3, 2);
  const TokenId best = sample(row, params(0)).token;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    sched::SamplingParams one = params(2, seed);
    one.top_k = 1;
    EXPECT_EQ(sample(row, one).token, best);
    one.top_k = 0;
    one.top_p = 1e-9F;
    EXPECT_EQ(sample(row, one).token, best);
    one.top_p = 1;
    one.min_p = 0.9999F;
    EXPECT_EQ(sample(row, one).token, best);
    EXPECT_EQ(sample(row, params(1e-4F, seed)).token, best) << "nearly greedy, without overflow";
  }
}

TEST(Sampler, NeverDrawsWhatIsImpossible) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    EXPECT_EQ(sample({-kInfinity, 0, -kInfinity}, params(2, seed)).token, 1);
    const TokenId only[] = {0, 2};
    EXPECT_EQ(sample({9, 0, 9}, params(1, seed), {.edits = {.masked = only}}).token, 1);
  }
}

TEST(Sampler, UnusableRowsAreErrors) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float temperature : {0.0F, 1.0F}) {
    EXPECT_FALSE(sample({0, nan, 1}, params(temperature)).error.empty());
    EXPECT_FALSE(sample({nan, nan}, params(temperature)).error.empty());
    EXPECT_FALSE(sample({0, kInfinity}, params(temperature)).error.empty());
    EXPECT_FALSE(sample({-kInfinity, -kInfinity}, params(temperature)).error.empty());
    const TokenId all[] = {0, 1};
    EXPECT_FALSE(sample({0, 0}, params(temperature), {.edits = {.masked = all}}).error.empty());
  }
  std::vector<float> row(49152, 0.0F);
  row[49150] = nan;
  EXPECT_FALSE(sample(row, params(0)).error.empty());
}

TEST(Sampler, TheDrawIsAFunctionOfSeedAndPosition) {
  const std::vector<float> row = random_row(500, 9, 1);
  Sampler reused;
  std::set<TokenId> seen;
  for (std::uint64_t position = 0; position < 100; ++position) {
    const DrawPoint point{.position = position};
    const TokenId first = sample(row, params(1, 42), point).token;
    std::vector<float> other = random_row(500, position, 3);
    reused.sample({.logits = other}, params(0.5F, 7), {});  // a neighbour in between
    std::vector<float> again = row;
    EXPECT_EQ(reused.sample({.logits = again}, params(1, 42), point).token, first);
    seen.insert(first);
  }
  EXPECT_GT(seen.size(), 50U);
}

TEST(Sampler, DrawsFollowTheDistribution) {
  struct Case {
    const char* name;
    float temperature, top_p, min_p;
    std::int32_t top_k;
  };
  const Case cases[] = {
      {"plain", 1, 1, 0, 0},
      {"hot", 2, 1, 0, 0},
      {"cold", 0.5F, 1, 0, 0},
      {"top_k", 1, 1, 0, 7},
      {"top_p", 1, 0.7F, 0, 0},
      {"min_p", 1, 1, 0.2F, 0},
      {"all three", 1.3F, 0.9F, 0.1F, 12},
      {"top_k beyond the vocabulary", 1, 1, 0, 1000},
  };
  const std::vector<float> row = random_row(100, 5, 2);
  for (const Case& c : cases) {
    sched::SamplingParams sampling = params(c.temperature, 2026);
    sampling.top_p = c.top_p;
    sampling.min_p = c.min_p;
    sampling.top_k = c.top_k;
    const std::vector<double> expected = plain_distribution(row, sampling);
    constexpr int kDraws = 20'000;
    std::vector<int> counts(row.size(), 0);
    Sampler sampler;
    for (std::uint64_t position = 0; position < kDraws; ++position) {
      std::vector<float> copy = row;
      ++counts[static_cast<std::size_t>(
          sampler.sample({.logits = copy}, sampling, {.position = position}).token)];
    }
    double chi_square = 0;
    int cells = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double want = expected[i] * kDraws;
      if (expected[i] == 0) EXPECT_EQ(counts[i], 0) << c.name << " token " << i;
      if (want < 5) continue;
      chi_square += (counts[i] - want) * (counts[i] - want) / want;
      ++cells;
    }
    // Mean cells - 1, deviation sqrt(2 (cells - 1)): 4 deviations.
    EXPECT_LT(chi_square, cells - 1 + 4 * std::sqrt(2.0 * cells)) << c.name;
    EXPECT_GE(cells, 3) << c.name;
  }
}

TEST(Sampler, KeepsExactlyThePrefixThatAFullSortWouldKeep) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto count = static_cast<std::size_t>(1 + random_bits(seed, 0) % 3000);
    const float spread = seed % 3 == 0 ? 0.01F : 6.0F;
    const std::vector<float> row = random_row(count, seed, spread);
    sched::SamplingParams sampling = params(1, seed);
    sampling.top_p = static_cast<float>(0.05 + 0.9 * random_unit(seed, 1));
    sampling.top_k =
        seed % 2 == 0 ? static_cast<std::int32_t>(1 + random_bits(seed, 2) % count) : 0;
    const std::vector<double> expected = plain_distribution(row, sampling);
    Sampler sampler;
    for (std::uint64_t position = 0; position < 200; ++position) {
      std::vector<float> copy = row;
      const TokenId token =
          sampler.sample({.logits = copy}, sampling, {.position = position}).token;
      ASSERT_GT(expected[static_cast<std::size_t>(token)], 0) << "seed " << seed;
    }
  }
}

TEST(Sampler, LogprobsAreThoseOfTheRawLogits) {
  for (const std::size_t count : {5U, 64U, 1000U, 49152U}) {
    const std::vector<float> row = random_row(count, count, 12);
    double sum = 0;
    for (const float x : row) sum += std::exp(double{x});
    std::vector<std::size_t> order = best_first(row);
    sched::SamplingParams sampling = params(1.7F, 11);
    sampling.logprobs = 20;
    const TokenId banned[] = {static_cast<TokenId>(order[0])};
    const sched::SampledToken got = sample(row, sampling, {.edits = {.masked = banned}});
    EXPECT_NE(got.token, banned[0]);
    EXPECT_NEAR(got.logprob, double{row[static_cast<std::size_t>(got.token)]} - std::log(sum),
                1e-5);
    ASSERT_EQ(got.top_logprobs.size(), std::min<std::size_t>(count, 20));
    for (std::size_t i = 0; i < got.top_logprobs.size(); ++i) {
      EXPECT_EQ(got.top_logprobs[i].token, static_cast<TokenId>(order[i]))
          << "the mask does not change the model's own distribution";
      EXPECT_NEAR(got.top_logprobs[i].logprob, double{row[order[i]]} - std::log(sum), 1e-5);
    }
  }
  sched::SamplingParams chosen_only = params(0);
  chosen_only.logprobs = 0;
  const sched::SampledToken got = sample({0, std::log(3.0F)}, chosen_only);
  EXPECT_NEAR(got.logprob, std::log(0.75), 1e-6);
  EXPECT_TRUE(got.top_logprobs.empty());
}

/// The maxima that a forward pass would give.
std::vector<float> maxima_of(std::span<const float> row) {
  std::vector<float> maxima;
  for (std::size_t start = 0; start < row.size(); start += kLogitBlock) {
    maxima.push_back(block_maximum(row.subspan(start, std::min(kLogitBlock, row.size() - start))));
  }
  return maxima;
}

sched::SamplingParams random_params(std::uint64_t seed) {
  sched::SamplingParams sampling = params(seed % 3 == 0 ? 0 : 0.2F + 0.3F * (seed % 5), seed);
  sampling.top_p = seed % 4 == 0 ? 1.0F : 0.3F + 0.1F * (seed % 7);
  sampling.top_k = seed % 5 == 0 ? static_cast<std::int32_t>(1 + seed % 100) : 0;
  sampling.min_p = seed % 6 == 0 ? 0.1F : 0.0F;
  sampling.typical_p = seed % 8 == 0 ? 0.6F : 1.0F;
  sampling.logprobs = seed % 7 == 0 ? 5 : -1;
  return sampling;
}

/// The sums that a forward pass would give.
std::vector<float> sums_of(std::span<const float> row, const sched::SamplingParams& sampling) {
  std::vector<float> sums;
  const float inverse = inverse_sum_temperature(sampling);
  if (inverse == 0) return std::vector<float>(logit_blocks(row.size()), -1);
  for (std::size_t start = 0; start < row.size(); start += kLogitBlock) {
    const auto block = row.subspan(start, std::min(kLogitBlock, row.size() - start));
    sums.push_back(block_weight(block, block_maximum(block), inverse));
  }
  return sums;
}

TEST(Sampler, GivenMaximaAndSumsChangeNothing) {
  Sampler with;
  Sampler without;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<float> row = random_row(1 + random_bits(seed, 0) % 2000, seed, 5);
    const auto place = [&](std::uint64_t k) { return random_bits(seed, k) % row.size(); };
    // Ties, impossible tokens, unusable rows.
    for (std::uint64_t k = 1; k <= 20; ++k) row[place(k)] = 6;
    for (std::uint64_t k = 30; k <= 60; ++k) row[place(k)] = -kInfinity;
    if (seed % 17 == 0) row[place(70)] = std::numeric_limits<float>::quiet_NaN();
    if (seed % 23 == 0) row[place(71)] = kInfinity;
    std::vector<TokenId> banned;
    if (seed % 3 == 1) {
      for (std::uint64_t k = 1; k <= 5; ++k) banned.push_back(static_cast<TokenId>(place(k)));
    }
    const DrawPoint point{.position = seed, .edits = {.masked = banned}};
    const std::vector<float> maxima = maxima_of(row);
    std::vector<float> copy = row;
    const sched::SamplingParams sampling = random_params(seed);
    const std::vector<float> sums = sums_of(row, sampling);
    const auto a = with.sample({.logits = copy, .maxima = maxima, .sums = sums}, sampling, point);
    const auto b = without.sample({.logits = row}, sampling, point);
    EXPECT_EQ(a.token, b.token);
    EXPECT_EQ(a.error, b.error);
    EXPECT_EQ(a.logprob, b.logprob);
    ASSERT_EQ(a.top_logprobs.size(), b.top_logprobs.size());
  }
}

TEST(Sampler, AGreedyDrawReadsTheMaximaAndOneBlock) {
  std::vector<float> row = random_row(10 * kLogitBlock, 9, 4);
  row[5 * kLogitBlock + 7] = 50;
  const std::vector<float> maxima = maxima_of(row);
  // What is not looked at may hold anything.
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i / kLogitBlock != 5) row[i] = std::numeric_limits<float>::quiet_NaN();
  }
  Sampler sampler;
  const auto got = sampler.sample({.logits = row, .maxima = maxima}, params(0), {});
  EXPECT_EQ(got.token, static_cast<TokenId>(5 * kLogitBlock + 7));
  EXPECT_TRUE(got.error.empty());
}

TEST(Sampler, ADrawWithATemperatureReadsTheNotesAndAFewBlocks) {
  std::vector<float> row = random_row(10 * kLogitBlock, 9, 2);
  row[5 * kLogitBlock + 7] = 15;
  row[2 * kLogitBlock + 9] = 14;
  struct Case {
    float top_p, min_p;
    std::int32_t top_k;
  };
  for (const Case& c : {Case{1, 0, 0}, Case{0.9F, 0, 0}, Case{1, 0.05F, 0}, Case{1, 0, 2}}) {
    sched::SamplingParams sampling = params(1);
    sampling.top_p = c.top_p;
    sampling.min_p = c.min_p;
    sampling.top_k = c.top_k;
    const std::vector<float> maxima = maxima_of(row);
    const std::vector<float> sums = sums_of(row, sampling);
    // What is not looked at may hold anything.
    std::vector<float> hidden = row;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t block = i / kLogitBlock;
      if (block != 5 && block != 2) hidden[i] = std::numeric_limits<float>::quiet_NaN();
    }
    std::set<TokenId> seen;
    Sampler sampler;
    for (std::uint64_t position = 0; position < 50; ++position) {
      std::vector<float> copy = hidden;
      seen.insert(sampler
                      .sample({.logits = copy, .maxima = maxima, .sums = sums}, sampling,
                              {.position = position})
                      .token);
    }
    EXPECT_EQ(seen, (std::set<TokenId>{2 * kLogitBlock + 9, 5 * kLogitBlock + 7}));
  }
}

TEST(RowWeights, AreExponentialsAndTheirSums) {
  std::vector<float> row;
  for (int i = 0; i <= 2000; ++i) row.push_back(-static_cast<float>(i) * 0.05F);
  RowWeights weights;
  RowScan scan;
  ASSERT_FALSE(scan.scan(row));
  weights.set(scan, 1);
  weights.add_up();
  double sum = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double want = row[i] < -87 ? 0 : std::exp(double{row[i]});
    EXPECT_NEAR(double{weights.of(static_cast<TokenId>(i))}, want, want * 3e-7);
    sum += want;
  }
  EXPECT_NEAR(weights.total(), sum, sum * 1e-7);
  EXPECT_EQ(weights.token_at(0), 0);
  EXPECT_EQ(weights.token_at(1.5), 1);
  EXPECT_GE(weights.token_at(weights.total()), 64) << "rounding at the end still gives a token";
}

}  // namespace
}  // namespace kantha::exec
