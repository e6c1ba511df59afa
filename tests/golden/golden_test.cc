#include <gtest/gtest.h>

#include <cstdlib>
#include <ostream>

#include "engine/exec/forward_factory.h"
#include "engine/model/load_model.h"
#include "tests/golden/golden_prompts.h"

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

class Golden : public testing::TestWithParam<Path> {
 protected:
  void SetUp() override {
    const char* path = std::getenv("KANTHA_TEST_MODEL");
    ASSERT_NE(path, nullptr) << "set KANTHA_TEST_MODEL, or run under ctest";
    auto loaded = model::load_model(path);
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string()
                             << "; scripts/fetch-model brings the file";
    loaded_ = std::move(loaded).value();
    prompts_ = prompts_of(read_golden("smollm2.json"));
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
