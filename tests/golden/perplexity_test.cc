#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numeric>

#include "engine/exec/forward_factory.h"
#include "engine/model/load_model.h"
#include "tests/golden/golden_prompts.h"
#include "tests/golden/lone_sequence.h"

/// How well the CPU's kernels predict a text, beside an f32 reference that is not ours
/// (make_perplexity.py made perplexity.json).
namespace kantha::exec {
namespace {

constexpr std::int32_t kBlockSize = 16;
constexpr std::size_t kChunk = 256;
/// What int8 activations and f16 keys and values may cost, as a share of the perplexity.
constexpr double kLossMax = 0.003;

struct Text {
  std::vector<TokenId> ids;
  std::vector<double> logprob;  ///< [ids - 1] of the reference
};

double perplexity(const std::vector<double>& logprob) {
  const double sum = std::accumulate(logprob.begin(), logprob.end(), 0.0);
  return std::exp(-sum / static_cast<double>(logprob.size()));
}

/// Log-probability of each token but the first after those before it.
std::vector<double> logprobs_of(Forward& forward, const std::vector<TokenId>& ids) {
  const std::vector<float> logits = golden::lone_logits(forward, ids, kBlockSize, kChunk);
  const auto vocabulary = static_cast<std::size_t>(forward.vocabulary_size());
  std::vector<double> out;
  for (std::size_t i = 1; i < ids.size(); ++i) {
    out.push_back(logprob_of(std::span(logits).subspan((i - 1) * vocabulary, vocabulary), ids[i]));
  }
  return out;
}

class Perplexity : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("KANTHA_TEST_MODEL");
    ASSERT_NE(path, nullptr) << "set KANTHA_TEST_MODEL, or run under ctest";
    auto loaded = model::load_model(path);
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    loaded_ = std::move(loaded).value();
    const nlohmann::json golden = read_golden("perplexity.json");
    text_ = {golden.at("ids"), golden.at("logprob")};
    ASSERT_EQ(text_.ids.size(), 769U);
    ASSERT_EQ(text_.logprob.size() + 1, text_.ids.size());
  }

  /// Of the CPU's kernels on the text, over the reference's, less 1.
  double loss() const {
    const ForwardOptions options = {.kv = {.block_size = kBlockSize, .block_count = 64},
                                    .rows_max = kChunk,
                                    .logit_rows_max = kChunk};
    auto forward = make_forward_cpu(loaded_.llama, options);
    EXPECT_TRUE(forward.ok()) << forward.error().to_string();
    const double ours = perplexity(logprobs_of(**forward, text_.ids));
    const double reference = perplexity(text_.logprob);
    std::printf("perplexity %.4f, reference %.4f: %+.3f %%\n", ours, reference,
                (ours / reference - 1) * 100);
    return ours / reference - 1;
  }

  model::LoadedModel loaded_;
  Text text_;
};

TEST_F(Perplexity, IsTheReferencesWithinThreeInAThousand) { EXPECT_LE(loss(), kLossMax); }

TEST_F(Perplexity, NoticesASlightlyWrongRopeBase) {
  loaded_.llama.config.rope_base *= 1.5F;
  EXPECT_GT(loss(), kLossMax);
}

}  // namespace
}  // namespace kantha::exec
