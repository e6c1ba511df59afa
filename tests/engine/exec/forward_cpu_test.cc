#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "engine/exec/forward_factory.h"
#include "tests/engine/exec/forward_cpu_driver.h"
#include "tests/engine/exec/forward_cpu_tiny_model.h"

namespace kantha::exec {
namespace {

using ops::DType;

constexpr model::LlamaConfig kSmall{.layers = 2,
                                    .width = 96,
                                    .heads = 6,
                                    .kv_heads = 2,
                                    .head_size = 16,
                                    .ffn_width = 160,
                                    .vocabulary = 53,
                                    .context = 512,
                                    .rope_dims = 16};

/// The same in whole blocks of 256.
constexpr model::LlamaConfig kWide{.layers = 2,
                                   .width = 256,
                                   .heads = 16,
                                   .kv_heads = 4,
                                   .head_size = 16,
                                   .ffn_width = 512,
                                   .vocabulary = 53,
                                   .context = 512,
                                   .rope_dims = 16};

model::LlamaConfig small_with(auto change) {
  model::LlamaConfig config = kSmall;
  change(config);
  return config;
}

struct Case {
  const char* name;
  model::LlamaConfig config;
  TinyTypes types;
  std::int32_t block_size;
  double tolerance;  ///< of a logit's root mean square error, relative to the logits' size
};

constexpr double kFloatError = 1e-3;  // keys and values are f16
constexpr double kByteError = 0.03;   // activations are int8

std::vector<Case> cases() {
  const TinyTypes floats;
  TinyTypes mixed;
  mixed.qk = DType::kQ4_1;
  mixed.v = DType::kF16;
  mixed.up = DType::kQ8_0;
  mixed.down = DType::kBF16;
  TinyTypes medium;  // what files of four and a half bits a weight hold
  medium.embedding = medium.v = medium.down = DType::kQ6_K;
  medium.qk = medium.o = medium.gate = medium.up = DType::kQ4_K;
  std::vector<Case> all = {
      {"F32", kSmall, floats, 16, kFloatError},
      {"F32 with blocks of 1", kSmall, floats, 1, kFloatError},
      {"F32 with blocks of 5", kSmall, floats, 5, kFloatError},
      {"F32 with blocks of 64", kSmall, floats, 64, kFloatError},
      {"heads that share a group of 16 rows",
       small_with([](auto& c) { c.head_size = 8, c.rope_dims = 8; }), floats, 16, kFloatError},
      {"heads that straddle groups of 16 rows",
       small_with([](auto& c) { c.head_size = 24, c.rope_dims = 24; }), floats, 16, kFloatError},
      {"heads of 128", small_with([](auto& c) { c.head_size = c.rope_dims = 128; }), floats, 16,
       kFloatError},
      {"rotation of half a head", small_with([](auto& c) { c.rope_dims = 8; }), floats, 16,
       kFloatError},
      {"no grouping of heads", small_with([](auto& c) { c.kv_heads = 6; }), floats, 16,
       kFloatError},
      {"one KV head for all", small_with([](auto& c) { c.kv_heads = 1; }), floats, 16, kFloatError},
      {"odd widths", small_with([](auto& c) { c.width = 50, c.ffn_width = 77; }), floats, 16,
       kFloatError},
      {"F16", kSmall, TinyTypes::all(DType::kF16), 16, kFloatError},
      {"BF16", kSmall, TinyTypes::all(DType::kBF16), 16, kFloatError},
      {"Q4_0", kSmall, TinyTypes::all(DType::kQ4_0), 16, kByteError},
      {"Q4_1", kSmall, TinyTypes::all(DType::kQ4_1), 16, kByteError},
      {"Q8_0", kSmall, TinyTypes::all(DType::kQ8_0), 16, kByteError},
      {"mixed types in one layer", kSmall, mixed, 16, kByteError},
      {"Q4_K and Q6_K", kWide, medium, 16, kByteError},
  };
  for (auto type = DType::kQ5_0; static_cast<std::size_t>(type) < ops::kDTypeCount;
       type = static_cast<DType>(static_cast<std::size_t>(type) + 1)) {
    const bool wide = ops::dtype_block_elements(type) == 256;
    all.push_back({ops::dtype_name(type).data(), wide ? kWide : kSmall, TinyTypes::all(type), 16,
                   kByteError});
  }
  return all;
}

TEST(ForwardCpu, equals_a_dense_forward_pass_in_double) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const TinyModel tiny(c.config, c.types);
    ForwardDriver driver(tiny.model(), {.kv = {c.block_size, 400 / c.block_size}, .threads = 2});
    TestSequence s = driver.sequence(random_tokens(40, c.config.vocabulary, 3));
    driver.finish(s, 23);
    const std::vector<double> expected = tiny.dense_logits(s.tokens);
    double error = 0;
    double size = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      error += std::pow(s.logits[i] - expected[i], 2);
      size += expected[i] * expected[i];
    }
    EXPECT_LT(std::sqrt(error / size), c.tolerance);
  }
}

TEST(ForwardCpu, a_step_may_be_as_large_as_rows_max_and_as_small_as_nothing) {
  const TinyModel tiny(kSmall, TinyTypes::all(DType::kQ4_1));
  ForwardDriver driver(tiny.model(), {.kv = {16, 8}, .rows_max = 33, .logit_rows_max = 33});
  EXPECT_EQ(driver.forward().rows_max(), 33);
  EXPECT_EQ(driver.forward().logit_rows_max(), 33);
  EXPECT_EQ(driver.forward().vocabulary_size(), 53);
  TestSequence s = driver.sequence(random_tokens(33, 53, 1));
  driver.step({});
  driver.step({{&s, 33}});
  EXPECT_EQ(s.logits.size(), 33U * 53);
  TestSequence more = driver.sequence(random_tokens(34, 53, 1));
  EXPECT_DEATH(driver.step({{&more, 34}}), "rows_max");
}

TEST(ForwardCpu, a_step_without_logits_only_writes_keys_and_values) {
  const TinyModel tiny(kSmall, TinyTypes::all(DType::kQ4_1));
  ForwardDriver driver(tiny.model(), {.kv = {4, 32}, .threads = 2});
  TestSequence whole = driver.sequence(random_tokens(20, 53, 1));
  driver.finish(whole, 20);

  TestSequence s = driver.sequence(whole.tokens);
  std::vector<std::int32_t> positions(19), slots(19), starts{0, 19};
  for (std::int32_t i = 0; i < 19; ++i) {
    positions[static_cast<std::size_t>(i)] = i;
    slots[static_cast<std::size_t>(i)] = s.blocks[static_cast<std::size_t>(i / 4)] * 4 + i % 4;
  }
  driver.forward().run({std::span(s.tokens).first(19),
                        positions,
                        slots,
                        starts,
                        s.blocks,
                        static_cast<std::int32_t>(s.blocks.size()),
                        {}},
                       {});
  s.computed = 19;
  driver.step({{&s, 1}});
  EXPECT_EQ(std::memcmp(s.logits.data(), whole.logits.data() + 19 * 53, 53 * sizeof(float)), 0);
}

TEST(ForwardCpu, logit_rows_may_be_any_rows_of_a_step) {
  const TinyModel tiny(kSmall, TinyTypes::all(DType::kQ4_1));
  ForwardDriver driver(tiny.model(), {.kv = {16, 8}});
  TestSequence s = driver.sequence(random_tokens(30, 53, 1));
  driver.finish(s, 30);
  TestSequence again = driver.sequence(s.tokens);
  const std::vector<std::int32_t> rows = {0, 7, 8, 15, 29};
  std::vector<std::int32_t> positions(30), slots(30), starts{0, 30};
  for (std::int32_t i = 0; i < 30; ++i) {
    positions[static_cast<std::size_t>(i)] = i;
    slots[static_cast<std::size_t>(i)] =
        again.blocks[static_cast<std::size_t>(i / 16)] * 16 + i % 16;
  }
  std::vector<float> logits(rows.size() * 53);
  driver.forward().run({again.tokens, positions, slots, starts, again.blocks, 2, rows}, logits);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(
        std::memcmp(logits.data() + i * 53, s.logits.data() + rows[i] * 53, 53 * sizeof(float)), 0)
        << "row " << rows[i];
  }
}

TEST(ForwardCpu, a_copied_block_serves_like_the_original) {
  for (const std::int32_t block_size : {5, 16}) {
    const TinyModel tiny(kSmall, TinyTypes::all(DType::kQ4_1));
    ForwardDriver driver(tiny.model(), {.kv = {block_size, 64}});
    TestSequence s = driver.sequence(random_tokens(40, 53, 1));
    TestSequence copy = driver.sequence(s.tokens);
    driver.finish(s, 39 - s.computed);
    ASSERT_EQ(s.computed, 40);
    for (std::size_t i = 0; i < s.blocks.size(); ++i) {
      driver.forward().copy_block(s.blocks[i], copy.blocks[i]);
    }
    copy.computed = 39;
    driver.step({{&copy, 1}});
    EXPECT_EQ(std::memcmp(copy.logits.data(), s.logits.data() + 39 * 53, 53 * sizeof(float)), 0);
  }
}

struct Refusal {
  const char* field;
  void (*spoil)(model::LlamaModel&, ForwardOptions&);
};

const Refusal kRefusals[] = {
    {"block_size", [](auto&, auto& o) { o.kv.block_size = 257; }},
    {"block_size", [](auto&, auto& o) { o.kv.block_size = 0; }},
    {"block_count", [](auto&, auto& o) { o.kv.block_count = 0; }},
    {"rows_max", [](auto&, auto& o) { o.rows_max = 0; }},
    {"logit_rows_max", [](auto&, auto& o) { o.logit_rows_max = 0; }},
    {"threads", [](auto&, auto& o) { o.threads = 0; }},
    {"kv_heads", [](auto& m, auto&) { m.config.kv_heads = 4; }},
    {"head_size", [](auto& m, auto&) { m.config.head_size = 15; }},
    {"rope_dims", [](auto& m, auto&) { m.config.rope_dims = 18; }},
    {"layers", [](auto& m, auto&) { m.layers.pop_back(); }},
    {"width", [](auto& m, auto&) { m.config.width = 0; }},
    {"output_norm", [](auto& m, auto&) { m.output_norm.type = DType::kF16; }},
    {"output", [](auto& m, auto&) { m.output.rows = 52; }},
    {"layers[1].down",
     [](auto& m, auto&) { std::swap(m.layers[1].down.rows, m.layers[1].down.cols); }},
    {"layers[0].q", [](auto& m, auto&) { m.layers[0].q.bytes = m.layers[0].q.bytes.first(100); }},
};

TEST(ForwardCpu, refuses_what_does_not_fit_by_name) {
  for (const Refusal& refusal : kRefusals) {
    TinyModel tiny(kSmall, {});
    ForwardOptions options{.kv = {16, 4}};
    refusal.spoil(tiny.model(), options);
    const auto made = make_forward_cpu(tiny.model(), options);
    ASSERT_FALSE(made.ok()) << refusal.field;
    EXPECT_EQ(made.error().code, Code::kInvalidArgument);
    EXPECT_EQ(made.error().field, refusal.field) << made.error().message;
  }
}

TEST(ForwardCpu, refuses_an_unknown_instruction_set) {
  setenv("KANTHA_CPU_ISA", "mmx", 1);
  const TinyModel tiny(kSmall, {});
  const auto made = make_forward_cpu(tiny.model(), {.kv = {16, 4}});
  unsetenv("KANTHA_CPU_ISA");
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("mmx"), std::string::npos);
}

TEST(ForwardCpu, says_how_many_bytes_a_block_takes) {
  // 2 layers · 2 KV heads · 16 tokens · (16 + 16) dimensions · 2 bytes.
  EXPECT_EQ(kv_block_bytes_cpu(kSmall, 16), 2 * 2 * 16 * 32 * 2);
}

}  // namespace
}  // namespace kantha::exec
