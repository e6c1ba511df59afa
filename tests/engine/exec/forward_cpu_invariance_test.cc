#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <string>

#include "engine/ops/cpu/cpu_features.h"
#include "tests/engine/exec/forward_cpu_driver.h"
#include "tests/engine/exec/forward_cpu_tiny_model.h"

/// A row's logits do not depend on anything but its sequence's tokens: every way of computing a
/// sequence is compared with one token at a time on one thread, bit for bit.
namespace kantha::exec {
namespace {

using ops::DType;

constexpr model::LlamaConfig kConfig{.layers = 2,
                                     .width = 96,
                                     .heads = 6,
                                     .kv_heads = 2,
                                     .head_size = 32,
                                     .ffn_width = 160,
                                     .vocabulary = 53,
                                     .context = 512,
                                     .rope_dims = 32};
/// The same in whole blocks of 256.
constexpr model::LlamaConfig kWide{.layers = 1,
                                   .width = 256,
                                   .heads = 8,
                                   .kv_heads = 2,
                                   .head_size = 32,
                                   .ffn_width = 256,
                                   .vocabulary = 53,
                                   .context = 512,
                                   .rope_dims = 32};
// Longer than the 256 tokens at which attention is cut.
constexpr std::int32_t kTokens = 300;

class ForwardCpuInvariance : public testing::TestWithParam<DType> {
 protected:
  ForwardCpuInvariance()
      : tiny_(ops::dtype_block_elements(GetParam()) == 256 ? kWide : kConfig,
              TinyTypes::all(GetParam())) {
    ForwardDriver driver = this->driver(1, 16);
    TestSequence s = driver.sequence(random_tokens(kTokens, kConfig.vocabulary, 1));
    driver.finish(s, 1);
    truth_ = s.logits;
  }

  ForwardDriver driver(std::int32_t threads, std::int32_t block_size) const {
    return ForwardDriver(tiny_.model(), {.kv = {block_size, 1600 / block_size + 80},
                                         .rows_max = 512,
                                         .logit_rows_max = 512,
                                         .threads = threads});
  }

  void expect_truth(const TestSequence& s, const std::string& how) const {
    ASSERT_EQ(s.logits.size(), truth_.size()) << how;
    EXPECT_EQ(std::memcmp(s.logits.data(), truth_.data(), truth_.size() * sizeof(float)), 0) << how;
  }

  TestSequence subject(ForwardDriver& driver) const {
    return driver.sequence(random_tokens(kTokens, kConfig.vocabulary, 1));
  }

  TinyModel tiny_;
  std::vector<float> truth_;
};

TEST_P(ForwardCpuInvariance, chunks_and_threads_do_not_matter) {
  for (const std::int32_t threads : {1, 2, 3}) {
    for (const std::int32_t chunk : {2, 7, 8, 64, 300}) {
      ForwardDriver driver = this->driver(threads, 16);
      TestSequence s = subject(driver);
      driver.finish(s, chunk);
      expect_truth(s, std::to_string(threads) + " threads, chunks of " + std::to_string(chunk));
    }
  }
}

TEST_P(ForwardCpuInvariance, blocks_and_their_places_do_not_matter) {
  for (const std::int32_t block_size : {1, 5, 16, 64}) {
    ForwardDriver driver = this->driver(2, block_size);
    driver.shuffle_blocks(static_cast<std::uint64_t>(block_size));
    TestSequence s = subject(driver);
    driver.finish(s, 50);
    expect_truth(s, "blocks of " + std::to_string(block_size));
  }
}

TEST_P(ForwardCpuInvariance, company_does_not_matter) {
  for (const std::size_t others : {1U, 15U, 63U}) {
    ForwardDriver driver = this->driver(2, 4);
    driver.shuffle_blocks(others);
    TestSequence s = subject(driver);
    std::vector<TestSequence> company;
    for (std::size_t i = 0; i < others; ++i) {
      company.push_back(driver.sequence(random_tokens(5, kConfig.vocabulary, 100 + i)));
    }
    // The subject decodes in the middle while the others come a token at a time and prefill it
    // again in larger steps after they have finished.
    for (std::int32_t step = 0; step < 5; ++step) {
      std::vector<std::pair<TestSequence*, std::int32_t>> pieces;
      for (std::size_t i = 0; i < others; ++i) {
        if (i == others / 2) pieces.emplace_back(&s, step % 2 == 0 ? 1 : 20);
        pieces.emplace_back(&company[i], 1);
      }
      driver.step(pieces);
    }
    driver.finish(s, 100);
    expect_truth(s, std::to_string(others) + " others");
  }
}

TEST_P(ForwardCpuInvariance, what_a_block_held_before_does_not_matter) {
  ForwardDriver driver = this->driver(1, 16);
  TestSequence before = driver.sequence(random_tokens(kTokens + 12, kConfig.vocabulary, 77));
  driver.finish(before, 256);
  TestSequence s{random_tokens(kTokens, kConfig.vocabulary, 1), before.blocks, 0, {}};
  driver.finish(s, 33);
  expect_truth(s, "used blocks");
}

TEST_P(ForwardCpuInvariance, the_instruction_set_does_not_matter) {
  for (const char* isa : {"avx2", "avx512"}) {
    if (!ops::cpu::choose_kernels(ops::cpu::detect_cpu_features(), isa).ok()) {
      std::cerr << "NOT TESTED HERE: " << isa << "\n";
      continue;
    }
    setenv("KANTHA_CPU_ISA", isa, 1);
    ForwardDriver driver = this->driver(2, 16);
    unsetenv("KANTHA_CPU_ISA");
    TestSequence s = subject(driver);
    driver.finish(s, 40);
    expect_truth(s, isa);
  }
}

INSTANTIATE_TEST_SUITE_P(, ForwardCpuInvariance,
                         testing::Values(DType::kF32, DType::kQ4_0, DType::kQ4_1, DType::kQ8_0,
                                         DType::kQ5_0, DType::kQ2_K, DType::kQ5_K, DType::kQ6_K,
                                         DType::kMXFP4),
                         [](const auto& info) { return std::string(ops::dtype_name(info.param)); });

}  // namespace
}  // namespace kantha::exec
