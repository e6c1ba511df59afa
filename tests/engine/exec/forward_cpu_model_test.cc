#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "engine/model/load_model.h"
#include "tests/engine/exec/forward_cpu_driver.h"

/// The real model: as good as plain f32, and the same bits whichever way it is computed.
namespace kantha::exec {
namespace {

// "The sun had barely risen when Anna opened the door of the small bakery on the corner of the
// square. She lit the ovens, washed her hands, and began to knead the dough that had rested
// overnight." as SmolLM2 spells it.
const std::vector<TokenId> kProse = {
    504,  2388, 761,  16119, 20367, 645,  16435, 6572, 260,   6644, 282,   260,   1165,  32339,
    335,  260,  7448, 282,   260,   5222, 30,    2306, 1150,  260,  34328, 28,    16102, 874,
    3288, 28,   284,  2585,  288,   7745, 344,   260,  14517, 338,  761,   32763, 15115, 30};

model::LoadedModel load() {
  const char* path = std::getenv("KANTHA_TEST_MODEL");
  EXPECT_NE(path, nullptr) << "KANTHA_TEST_MODEL is not set: run through ctest";
  auto model = model::load_model(path == nullptr ? "" : path);
  EXPECT_TRUE(model.ok()) << "run scripts/fetch-model: " << model.error().to_string();
  return std::move(model).value();
}

/// log p of the token that follows, for each row but the last.
std::vector<double> next_log_probs(const std::vector<float>& logits) {
  std::vector<double> result;
  const std::size_t vocabulary = logits.size() / kProse.size();
  for (std::size_t row = 0; row + 1 < kProse.size(); ++row) {
    const float* from = logits.data() + row * vocabulary;
    double sum = 0;
    for (std::size_t i = 0; i < vocabulary; ++i) sum += std::exp(double{from[i]});
    result.push_back(from[kProse[row + 1]] - std::log(sum));
  }
  return result;
}

TEST(ForwardCpuModel, log_probs_stay_within_a_twentieth_of_plain_f32) {
  const model::LoadedModel model = load();
  const ForwardOptions options{.kv = {16, 8}, .threads = 2};
  auto made = make_forward_ref(model.llama, options);
  ASSERT_TRUE(made.ok());
  ForwardDriver truth(std::move(made).value(), options);
  ForwardDriver cpu(model.llama, options);
  TestSequence expected = truth.sequence(kProse);
  TestSequence got = cpu.sequence(kProse);
  truth.finish(expected, 64);
  cpu.finish(got, 64);
  const auto a = next_log_probs(expected.logits);
  const auto b = next_log_probs(got.logits);
  double difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::abs(a[i] - b[i]) / static_cast<double>(a.size());
  }
  EXPECT_LT(difference, 0.05);
  RecordProperty("mean_log_prob_difference", std::to_string(difference));
}

TEST(ForwardCpuModel, one_token_at_a_time_on_one_thread_gives_the_bits_of_one_step_on_two) {
  const model::LoadedModel model = load();
  ForwardDriver slow(model.llama, {.kv = {5, 16}, .threads = 1});
  ForwardDriver fast(model.llama, {.kv = {16, 8}, .threads = 2});
  TestSequence a = slow.sequence(kProse);
  TestSequence b = fast.sequence(kProse);
  slow.finish(a, 1);
  fast.finish(b, 64);
  ASSERT_EQ(a.logits.size(), b.logits.size());
  EXPECT_EQ(std::memcmp(a.logits.data(), b.logits.data(), a.logits.size() * sizeof(float)), 0);
}

}  // namespace
}  // namespace kantha::exec
