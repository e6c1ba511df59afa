#include "engine/model/llama_from_gguf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "engine/model/model_from_bytes.h"
#include "tests/fake/gguf_writer.h"

namespace kantha::model {
namespace {

using fake::Bytes;
using fake::GgufWriter;

/// Loads the tiny model after a change; gives the error, or "loaded".
std::string refusal_after(const std::function<void(GgufWriter&)>& change) {
  GgufWriter writer = fake::tiny_llama_writer({});
  change(writer);
  const Bytes bytes = writer.finish();
  const auto loaded = model_from_bytes(bytes);
  return loaded.ok() ? "loaded" : loaded.error().to_string();
}

struct Case {
  std::string_view name;
  std::function<void(GgufWriter&)> change;
  std::string_view said;
};

void expect_all(std::span<const Case> cases) {
  for (const Case& c : cases) {
    const std::string message = refusal_after(c.change);
    EXPECT_NE(message.find(c.said), std::string::npos) << c.name << ": " << message;
  }
}

std::function<void(GgufWriter&)> with_u32(std::string_view key, std::uint32_t value) {
  return [=](GgufWriter& w) { w.without(key).u32(key, value); };
}
std::function<void(GgufWriter&)> with_f32(std::string_view key, float value) {
  return [=](GgufWriter& w) { w.without(key).f32(key, value); };
}
std::function<void(GgufWriter&)> with_text(std::string_view key, std::string_view value) {
  return [=](GgufWriter& w) { w.without(key).text(key, value); };
}
std::function<void(GgufWriter&)> lacking(std::string_view key) {
  return [=](GgufWriter& w) { w.without(key); };
}

TEST(LlamaFromGguf, RefusesKeysThatAreMissingOrAbsurd) {
  const Case cases[] = {
      {"no architecture", lacking("general.architecture"), "data_loss: general.architecture"},
      {"no layers", lacking("llama.block_count"), "llama.block_count: this key is missing"},
      {"zero layers", with_u32("llama.block_count", 0), "integer in [1, 1024], got 0"},
      {"too many layers", with_u32("llama.block_count", 1025), "integer in [1, 1024], got 1025"},
      {"layers that are not there", with_u32("llama.block_count", 3),
       "blk.2.attn_norm.weight: is missing"},
      {"zero width", with_u32("llama.embedding_length", 0), "got 0"},
      {"absurd width", with_u32("llama.embedding_length", 0xffffffff),
       "[1, 65536], got 4294967295"},
      {"layers as text", with_text("llama.block_count", "2"),
       "expected an integer, got type string"},
      {"layers as float", with_f32("llama.block_count", 2), "expected an integer, got type f32"},
      {"heads that do not divide", with_u32("llama.attention.head_count", 6),
       "does not divide the width 64"},
      {"odd head size", with_u32("llama.attention.head_count", 64),
       "even number in [2, 512], got 1"},
      {"kv heads that do not divide", with_u32("llama.attention.head_count_kv", 3),
       "does not divide the 4 heads"},
      {"zero context", with_u32("llama.context_length", 0), "llama.context_length"},
      {"rope base of zero", with_f32("llama.rope.freq_base", 0), "number in [1,"},
      {"rope base NaN", with_f32("llama.rope.freq_base", std::numeric_limits<float>::quiet_NaN()),
       "finite"},
      {"odd rope dims", with_u32("llama.rope.dimension_count", 15), "even number, got 15"},
      {"rope dims over the head", with_u32("llama.rope.dimension_count", 18), "[1, 16], got 18"},
      {"no epsilon", lacking("llama.attention.layer_norm_rms_epsilon"),
       "epsilon: this key is missing"},
      {"epsilon of zero", with_f32("llama.attention.layer_norm_rms_epsilon", 0),
       "[1e-12, 0.1], got 0"},
      {"vocabulary size that lies", with_u32("llama.vocab_size", 321),
       "321 differs from the 320 tokens"},
      {"no tokens", lacking("tokenizer.ggml.tokens"), "expected 1 to 1048576 tokens, got 0"},
  };
  expect_all(cases);
}

TEST(LlamaFromGguf, RefusesByNameWhatItDoesNotCompute) {
  const Case cases[] = {
      {"architecture", with_text("general.architecture", "mamba"),
       "unimplemented: general.architecture: \"mamba\" is not supported; llama, mistral,"},
      {"dynamic scaling", with_text("llama.rope.scaling.type", "dynamic"),
       "unimplemented: llama.rope.scaling.type: \"dynamic\""},
      {"scaling key", with_u32("llama.rope.scaling.alpha", 4),
       "unimplemented: \"llama.rope.scaling.alpha\""},
      {"experts", with_u32("llama.expert_count", 8), "unimplemented: llama.expert_count: 8"},
      {"unknown key", with_f32("llama.logit_scale", 2), "unimplemented: \"llama.logit_scale\""},
      {"window", with_u32("llama.attention.sliding_window", 4),
       "unimplemented: \"llama.attention.sliding_window\""},
      {"value size", with_u32("llama.attention.value_length", 8),
       "unimplemented: llama.attention.value_length"},
      {"split", with_u32("split.count", 2), "unimplemented: split.count"},
      {"not causal", [](GgufWriter& w) { w.flag("llama.attention.causal", false); },
       "unimplemented: llama.attention.causal"},
  };
  expect_all(cases);
}

TEST(LlamaFromGguf, LetsHarmlessKeysPass) {
  const Case cases[] = {
      {"no scaling", with_text("llama.rope.scaling.type", "none"), "loaded"},
      {"factor of one", with_f32("llama.rope.scaling.factor", 1), "loaded"},
      {"no experts", with_u32("llama.expert_count", 0), "loaded"},
      {"head sizes that say the same",
       [](GgufWriter& w) {
         w.u32("llama.attention.key_length", 16).u32("llama.attention.value_length", 16);
       },
       "loaded"},
      {"foreign keys", with_text("quantize.imatrix.file", "x"), "loaded"},
      {"no kv heads: as many as heads is a shape error here",
       lacking("llama.attention.head_count_kv"), "attn_k.weight: expected [64, 64]"},
      {"default rope base", lacking("llama.rope.freq_base"), "loaded"},
  };
  expect_all(cases);
}

TEST(LlamaFromGguf, HoldsTensorsAgainstTheKeys) {
  const std::vector<float> values(64 * 64, 0.5F);
  const auto replace = [&values](std::string_view name, std::int64_t rows, std::int64_t cols,
                                 ops::DType type) {
    return [=, &values](GgufWriter& w) {
      const auto count = static_cast<std::size_t>(std::max<std::int64_t>(rows, 1) * cols);
      w.without_tensor(name).tensor(name, rows, cols, type, std::span(values).first(count));
    };
  };
  using ops::DType;
  const Case cases[] = {
      {"missing", [](GgufWriter& w) { w.without_tensor("blk.1.attn_v.weight"); },
       "data_loss: tensor blk.1.attn_v.weight: is missing"},
      {"missing norm", [](GgufWriter& w) { w.without_tensor("output_norm.weight"); },
       "output_norm.weight: is missing"},
      {"wide k", replace("blk.0.attn_k.weight", 64, 64, DType::kF32),
       "blk.0.attn_k.weight: expected [32, 64] from the keys, got [64, 64]"},
      {"turned k", replace("blk.0.attn_k.weight", 64, 32, DType::kF32), "got [64, 32]"},
      {"long norm", replace("blk.0.ffn_norm.weight", 0, 96, DType::kF32), "expected [1, 64]"},
      {"Q8_0 norm", replace("blk.0.ffn_norm.weight", 0, 64, DType::kQ8_0),
       "unimplemented: tensor blk.0.ffn_norm.weight: type Q8_0"},
      {"f16 norm", replace("blk.0.ffn_norm.weight", 0, 64, DType::kF16), "loaded"},
      {"mixed types", replace("blk.0.attn_k.weight", 32, 64, DType::kQ4_0), "loaded"},
      {"bias", replace("blk.0.attn_q.bias", 0, 64, DType::kF32), "loaded"},
      {"long bias", replace("blk.0.attn_q.bias", 0, 96, DType::kF32), "expected [1, 64]"},
      {"feed-forward bias", replace("blk.0.ffn_up.bias", 0, 96, DType::kF32),
       "unimplemented: tensor \"blk.0.ffn_up.bias\": has no place"},
      {"layer too many", replace("blk.2.attn_q.weight", 64, 64, DType::kF32),
       "\"blk.2.attn_q.weight\": has no place"},
  };
  expect_all(cases);
}

/// The tiny model's config after a change.
LlamaConfig config_after(const std::function<void(GgufWriter&)>& change) {
  GgufWriter writer = fake::tiny_llama_writer({});
  change(writer);
  const Bytes bytes = writer.finish();
  const auto loaded = model_from_bytes(bytes);
  EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
  return loaded.ok() ? loaded->llama.config : LlamaConfig{};
}

TEST(LlamaFromGguf, RopeFactorsDivideTheFrequencies) {
  const auto with_factors = [](float last) {
    return [last](GgufWriter& w) {
      std::vector<float> factors(8, 1.0F);
      factors.back() = last;
      w.tensor("rope_freqs.weight", 0, 8, ops::DType::kF32, factors);
    };
  };
  EXPECT_EQ(config_after(with_factors(2.0F)).rope_divisors,
            (std::vector<double>{1, 1, 1, 1, 1, 1, 1, 2}));
  EXPECT_NE(refusal_after(with_factors(0.0F)).find("tensor rope_freqs.weight: factor 7"),
            std::string::npos);
}

TEST(LlamaFromGguf, EverySpellingOfLinearScalingIsOne) {
  const std::vector<double> fours(8, 4.0);
  EXPECT_EQ(config_after(with_f32("llama.rope.scale_linear", 4)).rope_divisors, fours);
  EXPECT_EQ(config_after(with_f32("llama.rope.scaling.factor", 4)).rope_divisors, fours);
  EXPECT_EQ(config_after([](GgufWriter& w) {
              w.text("llama.rope.scaling.type", "linear").f32("llama.rope.scaling.factor", 4);
            }).rope_divisors,
            fours);
  const LlamaConfig none = config_after([](GgufWriter& w) {
    w.text("llama.rope.scaling.type", "none").f32("llama.rope.scaling.factor", 4);
  });
  EXPECT_TRUE(none.rope_divisors.empty());
}

TEST(LlamaFromGguf, OutputIsTheEmbeddingOnlyWhenThereIsNone) {
  const Bytes tied = fake::tiny_llama({});
  const auto tied_model = model_from_bytes(tied);
  ASSERT_TRUE(tied_model.ok());
  EXPECT_EQ(tied_model->llama.output.bytes.data(), tied_model->llama.embedding.bytes.data());
  const Bytes untied = fake::tiny_llama({.tied = false});
  const auto untied_model = model_from_bytes(untied);
  ASSERT_TRUE(untied_model.ok());
  EXPECT_NE(untied_model->llama.output.bytes.data(), untied_model->llama.embedding.bytes.data());
  EXPECT_EQ(untied_model->llama.output.rows, 320);
}

}  // namespace
}  // namespace kantha::model
