#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>

#include "base/digest.h"
#include "engine/exec/forward_factory.h"
#include "engine/model/model_file.h"
#include "engine/model/model_from_bytes.h"
#include "tests/golden/golden_prompts.h"
#include "tests/golden/requantise.h"

/// The test model in the weight types that people's files have, against transformers on the very
/// same weights, dequantised by the Python package gguf.
namespace kantha::exec {
namespace {

class GoldenQuants : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    const char* path = std::getenv("KANTHA_TEST_MODEL");
    ASSERT_NE(path, nullptr) << "set KANTHA_TEST_MODEL, or run under ctest";
    const auto file = model::ModelFile::open(path);
    ASSERT_TRUE(file.ok()) << file.error().to_string() << "; scripts/fetch-model brings the file";
    bytes_ = golden::requantise((*file)->bytes(), GetParam());
    std::string name(GetParam());
    for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::tolower(c));
    golden_ = read_golden("smollm2_" + name + ".json");
    auto loaded = model::model_from_bytes(bytes_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    loaded_ = std::move(loaded).value();
  }

  /// Over the shortest prompts.
  Errors errors_of(const Result<std::unique_ptr<Forward>>& forward, std::size_t prompts) const {
    Errors errors;
    EXPECT_TRUE(forward.ok()) << forward.error().to_string();
    std::vector<Prompt> all = prompts_of(golden_);
    EXPECT_GE(all.size(), prompts);
    std::ranges::sort(all, {}, [](const Prompt& prompt) { return prompt.prompt.size(); });
    for (std::size_t i = 0; i < prompts; ++i) compare(**forward, all[i], errors);
    std::printf("mean |dlogprob| %.6f, max %.6f, other best token at %lld of %lld, gap %.4f\n",
                errors.mean(), errors.largest, static_cast<long long>(errors.other_best),
                static_cast<long long>(errors.positions), errors.other_best_gap);
    return errors;
  }

  fake::Bytes bytes_;
  nlohmann::json golden_;
  model::LoadedModel loaded_;
};

TEST_P(GoldenQuants, agrees_with_the_reference_on_the_same_weights) {
  const std::string_view bytes(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  ASSERT_EQ(sha256_hex(bytes), golden_.at("sha256").get<std::string>())
      << "requantise() gives another file than the one the figures are of: generate them anew";
  const Errors ref = errors_of(make_forward_ref(loaded_.llama, kOptions), 1);
  EXPECT_LE(ref.mean(), 1e-4);
  EXPECT_LT(ref.other_best_gap, 0.001);
  const Errors cpu = errors_of(make_forward_cpu(loaded_.llama, kOptions), 3);
  EXPECT_LE(cpu.mean(), 0.03);
  EXPECT_LT(cpu.other_best_gap, 0.2);
}

INSTANTIATE_TEST_SUITE_P(, GoldenQuants, testing::ValuesIn(golden::mixtures()),
                         [](const auto& info) {
                           std::string name(info.param);
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace kantha::exec
