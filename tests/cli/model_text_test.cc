#include "cli/model_text.h"

#include <gtest/gtest.h>

namespace kantha::cli {
namespace {

model::ModelReport report() {
  model::ModelReport report;
  report.format = "GGUF 3";
  report.architecture = "gemma3";
  report.file_bytes = 3 << 20;
  report.parameters = 2'500'000;
  report.types = {{"F32", {4, 1 << 10}}, {"Q8_0", {9, 2 << 20}}};
  model::LlamaConfig config;
  config.layers = 6;
  config.width = 64;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_size = 16;
  config.ffn_width = 96;
  config.context = 4096;
  config.sliding_window = 512;
  config.windowed = {1, 1, 1, 1, 1, 0};
  report.config = config;
  return report;
}

TEST(ModelText, SaysWhatItIsWhatItCostsAndThatItRuns) {
  // A token: 2 heads · 16 · 2 (K, V) · 2 bytes = 128 in each layer.
  EXPECT_EQ(model_text(report(), ""),
            "format        GGUF 3\n"
            "architecture  gemma3\n"
            "parameters    2.5 million in 3.0 MiB\n"
            "weights       9 × Q8_0 (2.0 MiB), 4 × F32 (0.0 MiB)\n"
            "shape         6 layers, width 64, 4 heads, 2 KV heads of 16, feed-forward 96\n"
            "context       4096 positions; 5 of 6 layers see the last 512 only\n"
            "KV cache      768 bytes a token within the window, 128 beyond it; 0.8 MiB for the "
            "whole context\n"
            "runs          yes\n");
}

TEST(ModelText, TellsTheTokenizerAndWhyItDoesNotRun) {
  model::ModelReport partial;
  partial.format = "GGUF 3";
  partial.architecture = "mamba";
  partial.vocabulary = text::Vocabulary{};
  partial.vocabulary->model = "gpt2";
  partial.vocabulary->pre = "smollm";
  partial.vocabulary->tokens = {"a", "b"};
  EXPECT_EQ(model_text(partial, "general.architecture: \"mamba\" is not supported"),
            "format        GGUF 3\n"
            "architecture  mamba\n"
            "tokenizer     2 tokens, gpt2, split as smollm\n"
            "template      none: completions only\n"
            "runs          no: general.architecture: \"mamba\" is not supported\n");
}

}  // namespace
}  // namespace kantha::cli
