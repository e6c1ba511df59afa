#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>

#include "engine/exec/forward_factory.h"
#include "engine/model/load_model.h"

/// The engine's logits against an f32 reference that is not ours (generate.py made smollm2.json).
namespace kantha::exec {
namespace {

using MakeForward = Result<std::unique_ptr<Forward>> (*)(const model::LlamaModel&,
                                                         const ForwardOptions&);

/// One way to run a model and how far from the reference it may be.
struct Path {
  const char* name;
  MakeForward make;
  double mean_error_max;  ///< of the log-probability of the reference's best token, in nats
  double gap_max;         ///< another best token is forgiven where the reference's gap is below
  /// How wrong a rope base the bounds must notice, as a factor.
  float rope_factor;
};

void PrintTo(const Path& path, std::ostream* out) { *out << path.name; }

const Path kPaths[] = {
    {"ref", make_forward_ref, 1e-4, 0.001, 1.1F},
    {"cpu", make_forward_cpu, 0.02, 0.2, 2.0F},
};

struct Prompt {
  std::string name;
  std::vector<TokenId> prompt;
  std::vector<TokenId> greedy;
  std::vector<double> logprob;  ///< of greedy[i], reference
  std::vector<double> gap;      ///< to the reference's second best
};

constexpr std::int32_t kRowsMax = 256;
constexpr std::int32_t kSteps = 48;
const ForwardOptions kOptions = {.kv = {.block_size = 16, .block_count = kRowsMax / 16},
                                 .rows_max = kRowsMax,
                                 .logit_rows_max = kSteps};

std::vector<Prompt> read_prompts() {
  const char* root = std::getenv("KANTHA_SOURCE_DIR");
  std::ifstream file(std::string(root == nullptr ? "." : root) + "/tests/golden/smollm2.json");
  std::vector<Prompt> prompts;
  for (const auto& entry : nlohmann::json::parse(file).at("entries")) {
    prompts.push_back({entry.at("name"), entry.at("prompt"), entry.at("greedy"),
                       entry.at("logprob"), entry.at("gap")});
  }
  return prompts;
}

/// A sequence alone in its Forward: position p lies in slot p.
class Alone {
 public:
  explicit Alone(Forward& forward) : forward_(forward), blocks_(kOptions.kv.block_count) {
    std::iota(blocks_.begin(), blocks_.end(), 0);
  }

  /// Runs `ids` from position `start` on; logits [wanted, vocabulary] of the last `wanted` rows.
  std::vector<float> run(std::span<const TokenId> ids, std::int32_t start, std::int32_t wanted) {
    const auto count = static_cast<std::int32_t>(ids.size());
    std::vector<std::int32_t> positions(ids.size());
    std::iota(positions.begin(), positions.end(), start);
    std::vector<std::int32_t> logit_rows(static_cast<std::size_t>(wanted));
    std::iota(logit_rows.begin(), logit_rows.end(), count - wanted);
    const std::int32_t row_starts[] = {0, count};
    std::vector<float> logits(static_cast<std::size_t>(wanted) *
                              static_cast<std::size_t>(forward_.vocabulary_size()));
    forward_.run({.token_ids = ids,
                  .positions = positions,
                  .slots = positions,
                  .row_starts = row_starts,
                  .block_tables = blocks_,
                  .block_table_stride = kOptions.kv.block_count,
                  .logit_rows = logit_rows},
                 logits);
    return logits;
  }

 private:
  Forward& forward_;
  std::vector<BlockId> blocks_;
};

TokenId best_of(std::span<const float> logits) {
  return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
}

double logprob_of(std::span<const float> logits, TokenId token) {
  const double highest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - highest);
  return logits[static_cast<std::size_t>(token)] - highest - std::log(sum);
}

/// How far a path was from the reference.
struct Errors {
  double sum = 0;
  double largest = 0;
  std::int64_t positions = 0;
  std::int64_t other_best = 0;  ///< positions where our best token is another
  double other_best_gap = 0;    ///< largest reference gap among them
  std::string worst_prompt;

  double mean() const { return sum / static_cast<double>(positions); }
};

void compare(Forward& forward, const Prompt& prompt, Errors& errors) {
  std::vector<TokenId> ids = prompt.prompt;
  ids.insert(ids.end(), prompt.greedy.begin(), prompt.greedy.end() - 1);
  ASSERT_LE(std::ssize(ids), kRowsMax) << prompt.name;
  ASSERT_EQ(std::ssize(prompt.greedy), kSteps) << prompt.name;
  const std::vector<float> logits = Alone(forward).run(ids, 0, kSteps);
  const auto vocabulary = static_cast<std::size_t>(forward.vocabulary_size());
  for (std::size_t i = 0; i < prompt.greedy.size(); ++i) {
    const auto row = std::span(logits).subspan(i * vocabulary, vocabulary);
    const double error = std::fabs(logprob_of(row, prompt.greedy[i]) - prompt.logprob[i]);
    errors.sum += error;
    errors.positions += 1;
    if (!(error <= errors.largest)) {
      errors.largest = error;
      errors.worst_prompt = prompt.name;
    }
    if (best_of(row) == prompt.greedy[i]) continue;
    errors.other_best += 1;
    errors.other_best_gap = std::max(errors.other_best_gap, prompt.gap[i]);
  }
}

class Golden : public testing::TestWithParam<Path> {
 protected:
  void SetUp() override {
    const char* path = std::getenv("KANTHA_TEST_MODEL");
    ASSERT_NE(path, nullptr) << "set KANTHA_TEST_MODEL, or run under ctest";
    auto loaded = model::load_model(path);
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string()
                             << "; scripts/fetch-model brings the file";
    loaded_ = std::move(loaded).value();
    prompts_ = read_prompts();
    ASSERT_EQ(prompts_.size(), 40U);
  }

  std::unique_ptr<Forward> make() const {
    auto forward = GetParam().make(loaded_.llama, kOptions);
    EXPECT_TRUE(forward.ok()) << forward.error().to_string();
    return std::move(forward).value();
  }

  model::LoadedModel loaded_;
  std::vector<Prompt> prompts_;
};

TEST_P(Golden, AgreesWithTheReferenceOverAllPrompts) {
  const auto forward = make();
  Errors errors;
  for (const Prompt& prompt : prompts_) compare(*forward, prompt, errors);
  std::printf(
      "%s: mean |dlogprob| %.6f, max %.6f (%s), other best token at %lld of %lld positions, "
      "largest gap there %.4f\n",
      GetParam().name, errors.mean(), errors.largest, errors.worst_prompt.c_str(),
      static_cast<long long>(errors.other_best), static_cast<long long>(errors.positions),
      errors.other_best_gap);
  EXPECT_LE(errors.mean(), GetParam().mean_error_max);
  EXPECT_LT(errors.other_best_gap, GetParam().gap_max);
}

TEST_P(Golden, NoticesAWrongRopeBase) {
  loaded_.llama.config.rope_base *= GetParam().rope_factor;
  const auto forward = make();
  std::ranges::sort(prompts_, std::greater(), [](const Prompt& p) { return p.prompt.size(); });
  Errors errors;
  for (std::size_t i = 0; i < 4; ++i) compare(*forward, prompts_[i], errors);
  std::printf("%s, rope base times %.1f: mean |dlogprob| %.6f\n", GetParam().name,
              double{GetParam().rope_factor}, errors.mean());
  EXPECT_GT(errors.mean(), GetParam().mean_error_max);
}

TEST_P(Golden, AnswersTheCapitalOfFrance) {
  const std::vector<TokenId> chat = {1,    9690, 198,   2683, 359,  253,  5356, 5646,  11173, 3365,
                                     3511, 308,  34519, 28,   7018, 411,  407,  19712, 8182,  2,
                                     198,  1,    4093,  198,  1780, 314,  260,  3575,  282,   4649,
                                     47,   2,    198,   1,    520,  9531, 198};
  const auto forward = make();
  Alone alone(*forward);
  auto position = static_cast<std::int32_t>(chat.size());
  TokenId next = best_of(alone.run(chat, 0, 1));
  std::string text;
  for (int step = 0; step < 16 && next != loaded_.vocabulary.eos; ++step, ++position) {
    text += loaded_.vocabulary.tokens[static_cast<std::size_t>(next)];
    next = best_of(alone.run(std::span(&next, 1), position, 1));
  }
  // Byte-level BPE writes a blank before a word as U+0120.
  EXPECT_EQ(text, "The\u0120capital\u0120of\u0120France\u0120is\u0120Paris.");
  EXPECT_EQ(next, loaded_.vocabulary.eos);
}

INSTANTIATE_TEST_SUITE_P(Paths, Golden, testing::ValuesIn(kPaths),
                         [](const auto& path) { return std::string(path.param.name); });

}  // namespace
}  // namespace kantha::exec
