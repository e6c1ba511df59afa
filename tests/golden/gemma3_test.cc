#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <span>

#include "base/json.h"
#include "engine/exec/forward_factory.h"
#include "engine/model/load_model.h"
#include "tests/golden/lone_sequence.h"

/// gemma-3-270m in K-quants against transformers' f32 model on the dequantised weights
/// (make_gemma3.py made gemma3.json; scripts/fetch-gemma3 brings the file).
namespace kantha::golden {
namespace {

constexpr std::size_t kSteps = 48;
constexpr double kMeanErrorMax = 0.05;  ///< of the log-probability of the best token, in nats
constexpr double kGapMax = 0.5;         ///< another best token is forgiven below this gap

double logprob_of(std::span<const float> logits, std::size_t token) {
  const double highest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - highest);
  return logits[token] - highest - std::log(sum);
}

TEST(Gemma3, AgreesWithTheReferenceOnItsRealWeights) {
  const char* path = std::getenv("KANTHA_GEMMA3");
  if (path == nullptr || !std::ifstream(path)) {
    GTEST_SKIP() << "no gemma-3-270m: scripts/fetch-gemma3 brings it";
  }
  const auto loaded = model::load_model(path);
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  const exec::ForwardOptions options{
      .kv = {.block_size = 16, .block_count = 64}, .rows_max = 96, .threads = 2, .context = 1024};
  const auto forward = exec::make_forward_cpu(loaded->llama, options);
  ASSERT_TRUE(forward.ok()) << forward.error().to_string();
  const char* root = std::getenv("KANTHA_SOURCE_DIR");
  std::ifstream file(std::string(root == nullptr ? "." : root) + "/tests/golden/gemma3.json");
  const auto vocabulary = static_cast<std::size_t>(loaded->llama.config.vocabulary);
  double sum = 0;
  double largest = 0;
  std::size_t count = 0;
  for (const Json& prompt : Json::parse(file)["prompts"]) {
    const auto ids = prompt["ids"].get<std::vector<TokenId>>();
    const auto logits = lone_logits(**forward, ids, 16, ids.size(), ids.size() - kSteps);
    for (std::size_t i = 0; i < kSteps; ++i, ++count) {
      const auto row = std::span(logits).subspan(i * vocabulary, vocabulary);
      const auto best = prompt["best"][i].get<std::size_t>();
      const double error = std::fabs(logprob_of(row, best) - prompt["logprob"][i].get<double>());
      sum += error;
      largest = std::max(largest, error);
      const auto ours = static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
      if (ours == best) continue;
      const double gap = prompt["gap"][i];
      std::printf("near tie: position %zu of prompt %zu, gap %.3f\n", i, count / kSteps, gap);
      EXPECT_LT(gap, kGapMax);
    }
  }
  ASSERT_EQ(count, 20 * kSteps);
  std::printf("mean |dlogprob| %.5f, max %.5f\n", sum / static_cast<double>(count), largest);
  EXPECT_LE(sum / static_cast<double>(count), kMeanErrorMax);
}

}  // namespace
}  // namespace kantha::golden
