#include "engine/exec/logit_editor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/rng.h"
#include "engine/exec/sampler.h"
#include "tests/engine/exec/plain_sampling.h"

namespace kantha::exec {
namespace {

using sched::LogitRules;
using sched::SamplingParams;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kNo = -std::numeric_limits<double>::infinity();

const std::vector<double> kRow{2.5, -1.25, 0.0, 3.75, 1.0, -0.5, 2.0, -3.0, 0.75, 1.5};
const std::vector<TokenId> kPrompt{3, 3, 1, 9};
const std::vector<TokenId> kOutput{3, 6, 6, 6};

/// What the fast path makes of a row.
std::vector<float> fast_edit(const PlainRow& row, const LogitRules& rules) {
  std::vector<float> logits(row.logits.begin(), row.logits.end());
  std::vector<TokenId> tokens = row.prompt;
  tokens.insert(tokens.end(), row.output.begin(), row.output.end());
  sched::TokenCounts counts;
  counts.follow(tokens, static_cast<std::int32_t>(row.prompt.size()), rules.counts_prompt());
  LogitEditor editor;
  editor.edit(
      logits,
      {.masked = row.masked, .rules = &rules, .output = row.output, .counts = counts.entries()});
  return logits;
}

void expect_near(std::span<const double> got, std::span<const double> want, double error) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::isinf(want[i])) {
      EXPECT_EQ(got[i], want[i]) << "token " << i;
    } else {
      EXPECT_NEAR(got[i], want[i], error) << "token " << i;
    }
  }
}

struct EditCase {
  const char* name;
  LogitRules rules;
  std::vector<double> want;  ///< by numpy 2.3 and transformers' processors, float64
};

std::vector<EditCase> edit_cases() {
  LogitRules all{.repetition_penalty = 1.3F, .presence_penalty = 1.1F, .frequency_penalty = -0.4F};
  all.bias = {{0, -2.5F}, {7, 6}};
  all.allowed = {0, 3, 6, 7, 9};
  all.bad_words = {{3}, {6, 5, 1}};
  return {
      {"repetition above 1 reaches prompt and output",
       {.repetition_penalty = 1.5F},
       {2.5, -1.875, 0.0, 2.5, 1.0, -0.5, 1.333333333333, -3.0, 0.75, 1.0}},
      {"repetition below 1 is a reward",
       {.repetition_penalty = 0.8F},
       {2.5, -1.0, 0.0, 4.6875, 1.0, -0.5, 2.5, -3.0, 0.75, 1.875}},
      {"frequency and presence count the output only",  // report B040
       {.presence_penalty = 0.25F, .frequency_penalty = 0.5F},
       {2.5, -1.25, 0.0, 3.0, 1.0, -0.5, 0.25, -3.0, 0.75, 1.5}},
      {"everything at once, in order",
       all,
       {0.0, kNo, kNo, kNo, kNo, kNo, 1.638461538462, 3.0, kNo, 1.153846153846}},
  };
}

TEST(LogitEditor, GivesTheFiguresOfTheReference) {
  for (const EditCase& c : edit_cases()) {
    SCOPED_TRACE(c.name);
    const PlainRow row{.logits = kRow, .prompt = kPrompt, .output = kOutput};
    expect_near(plain_edit(row, c.rules), c.want, 1e-6);
    const std::vector<float> fast = fast_edit(row, c.rules);
    expect_near(std::vector<double>(fast.begin(), fast.end()), c.want, 1e-6);
  }
}

TEST(PlainDistribution, GivesTheFiguresOfTheReference) {
  struct Case {
    const char* name;
    float temperature;
    std::int32_t top_k;
    float top_p, min_p, typical_p;
    std::vector<double> want;  ///< by transformers' warpers, float64
  };
  const Case cases[] = {
      {"typical_p", 1, 0, 1, 0, 0.5F, {0.222700138825, 0, 0, 0.777299861175, 0, 0, 0, 0, 0, 0}},
      {"typical_p may drop neither of two",
       1,
       0,
       1,
       0,
       0.2F,
       {0.222700138825, 0, 0, 0.777299861175, 0, 0, 0, 0, 0, 0}},
      {"typical_p after temperature",
       0.7F,
       0,
       1,
       0,
       0.9F,
       {0.134167317907, 0, 0, 0.800152190627, 0, 0, 0.065680491466, 0, 0, 0}},
      {"all of them",
       1.5F,
       6,
       0.9F,
       0.05F,
       0.8F,
       {0.248910568134, 0, 0, 0.572737216265, 0, 0, 0.178352215601, 0, 0, 0}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    SamplingParams sampling{.temperature = c.temperature, .top_p = c.top_p, .top_k = c.top_k};
    sampling.min_p = c.min_p;
    sampling.typical_p = c.typical_p;
    expect_near(plain_distribution(kRow, sampling), c.want, 1e-6);
  }
}

/// Random rules over a vocabulary of `count`, which leave something to draw.
LogitRules random_rules(std::uint64_t seed, std::size_t count) {
  const auto unit = [&](std::uint64_t k) { return static_cast<float>(random_unit(seed, 900 + k)); };
  const auto token = [&](std::uint64_t k) {
    return static_cast<TokenId>(random_bits(seed, 950 + k) % count);
  };
  LogitRules rules;
  if (seed % 2 == 0) rules.repetition_penalty = 0.5F + 1.5F * unit(0);
  if (seed % 3 == 0) rules.presence_penalty = 4 * unit(1) - 2;
  if (seed % 3 != 1) rules.frequency_penalty = 4 * unit(2) - 2;
  if (seed % 4 == 0) rules.bias = {{token(0), 20 * unit(3) - 10}};
  if (seed % 5 == 0) {
    for (std::size_t i = 0; i < count; i += 3) rules.allowed.push_back(static_cast<TokenId>(i));
  }
  if (seed % 5 == 1) rules.bad_words = {{token(1)}, {token(2), token(3)}};
  return rules;
}

PlainRow random_row(std::uint64_t seed, std::size_t count) {
  PlainRow row;
  for (std::size_t i = 0; i < count; ++i) {
    row.logits.push_back(double{static_cast<float>(random_unit(seed, i) * 16 - 8)});
  }
  const auto token = [&](std::uint64_t k) {
    return static_cast<TokenId>(random_bits(~seed, k) % count);
  };
  for (std::uint64_t k = 0; k < seed % 300; ++k) row.prompt.push_back(token(k));
  for (std::uint64_t k = 0; k < seed % 90; ++k) row.output.push_back(token(k % 40 + 150));
  if (seed % 7 == 0) row.masked = {token(1000), token(1001), token(1000)};
  return row;
}

TEST(LogitEditor, RandomRowsAreEditedAsThePlainTruthHasIt) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    const std::size_t count = 10 + random_bits(seed, 7) % 1500;
    const PlainRow row = random_row(seed, count);
    const LogitRules rules = random_rules(seed, count);
    const std::vector<float> fast = fast_edit(row, rules);
    expect_near(std::vector<double>(fast.begin(), fast.end()), plain_edit(row, rules), 2e-4);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

TEST(LogitEditor, TellsEachBlockThatItChangedOnce) {
  std::vector<float> logits(1000, 1.0F);
  const std::vector<TokenId> masked{1, 2, 999, 3, 600};
  LogitEditor editor;
  const auto blocks = editor.edit(logits, {.masked = masked});
  EXPECT_EQ(std::vector<std::size_t>(blocks.begin(), blocks.end()),
            (std::vector<std::size_t>{0, 3, 2}));
  EXPECT_EQ(logits[600], -kInfinity);
  EXPECT_EQ(logits[601], 1.0F);
}

/// Draws of the whole sampler follow the plain distribution of the plainly edited row.
TEST(Sampler, DrawsFollowTheRules) {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(seed);
    constexpr std::size_t kCount = 400;
    PlainRow row = random_row(seed * 31, kCount);
    for (double& logit : row.logits) logit = double{static_cast<float>(logit / 2)};
    const LogitRules rules = random_rules(seed, kCount);
    SamplingParams sampling{.temperature = 0.6F + 0.05F * static_cast<float>(seed), .seed = seed};
    if (seed % 2 == 0) sampling.typical_p = 0.3F + 0.02F * static_cast<float>(seed);
    if (seed % 3 == 0) sampling.top_p = 0.8F;
    if (seed % 4 == 0) sampling.top_k = 50;
    if (seed % 6 == 1) sampling.min_p = 0.05F;
    const std::vector<double> want = plain_distribution(plain_edit(row, rules), sampling);
    std::vector<TokenId> tokens = row.prompt;
    tokens.insert(tokens.end(), row.output.begin(), row.output.end());
    sched::TokenCounts counts;
    counts.follow(tokens, static_cast<std::int32_t>(row.prompt.size()), rules.counts_prompt());
    Sampler sampler;
    constexpr int kDraws = 4000;
    std::vector<int> drawn(kCount, 0);
    const std::vector<float> raw(row.logits.begin(), row.logits.end());
    for (std::uint64_t position = 0; position < kDraws; ++position) {
      std::vector<float> logits = raw;
      const auto got = sampler.sample({.logits = logits}, sampling,
                                      {.position = position,
                                       .edits = {.masked = row.masked,
                                                 .rules = &rules,
                                                 .output = row.output,
                                                 .counts = counts.entries()}});
      ASSERT_EQ(got.error, "");
      ++drawn[static_cast<std::size_t>(got.token)];
    }
    double chi_square = 0;
    int cells = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const double expected = want[i] * kDraws;
      if (want[i] == 0) EXPECT_EQ(drawn[i], 0) << "token " << i;
      if (expected < 5) continue;
      chi_square += (drawn[i] - expected) * (drawn[i] - expected) / expected;
      ++cells;
    }
    EXPECT_LT(chi_square, cells + 5 * std::sqrt(2.0 * cells));
  }
}

TEST(Sampler, LogprobsStayThoseOfTheRawLogitsUnderRules) {
  std::vector<float> row(kRow.begin(), kRow.end());
  double sum = 0;
  for (const double logit : kRow) sum += std::exp(logit);
  LogitRules rules;
  rules.bias = {{7, 50}};
  rules.allowed = {6, 7};
  SamplingParams sampling{.temperature = 0, .logprobs = 2};
  Sampler sampler;
  const auto got = sampler.sample({.logits = row}, sampling, {.edits = {.rules = &rules}});
  EXPECT_EQ(got.token, 7);
  EXPECT_NEAR(got.logprob, -3.0 - std::log(sum), 1e-5);
  EXPECT_EQ(got.top_logprobs.at(0).token, 3) << "forbidden, and still what the model finds best";
}

TEST(Sampler, ForbiddingEverythingIsTheRequestsOwnFault) {
  LogitRules rules;
  rules.allowed = {4};
  rules.bad_words = {{5, 4}};
  const std::vector<TokenId> output{1, 5};
  for (const float temperature : {0.0F, 1.0F}) {
    std::vector<float> row(10, 1.0F);
    SamplingParams sampling{.temperature = temperature};
    Sampler sampler;
    const auto got =
        sampler.sample({.logits = row}, sampling, {.edits = {.rules = &rules, .output = output}});
    EXPECT_TRUE(got.forbidden);
    EXPECT_NE(got.error.find("bad_words"), std::string::npos);
    std::vector<float> broken(10, kInfinity);
    EXPECT_FALSE(sampler.sample({.logits = broken}, sampling, {}).forbidden);
  }
}

}  // namespace
}  // namespace kantha::exec
