#include "engine/model/vocabulary_from_gguf.h"

#include <gtest/gtest.h>

#include <span>

#include "engine/model/gguf_file.h"
#include "tests/fake/gguf_writer.h"

namespace kantha::model {
namespace {

using fake::GgufWriter;

Result<text::Vocabulary> vocabulary_of(const GgufWriter& writer) {
  const fake::Bytes bytes = writer.finish();
  const auto file = parse_gguf(bytes);
  EXPECT_TRUE(file.ok()) << file.error().to_string();
  return vocabulary_from_gguf(file->metadata);
}

std::string refusal(const GgufWriter& writer) {
  const auto vocabulary = vocabulary_of(writer);
  return vocabulary.ok() ? "loaded" : vocabulary.error().to_string();
}

GgufWriter with_tokens(const std::vector<std::string>& tokens,
                       const std::vector<std::int32_t>& types) {
  GgufWriter writer;
  writer.text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", tokens);
  writer.i32s("tokenizer.ggml.token_type", types);
  return writer;
}

TEST(VocabularyFromGguf, CopiesTheTables) {
  const auto vocabulary = vocabulary_of(fake::tiny_llama_writer({.vocabulary = 300}));
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.error().to_string();
  EXPECT_EQ(vocabulary->model, "gpt2");
  EXPECT_EQ(vocabulary->pre, "smollm");
  ASSERT_EQ(vocabulary->tokens.size(), 300U);
  EXPECT_EQ(vocabulary->tokens[1], "<|im_start|>");
  EXPECT_EQ(vocabulary->tokens[3 + ' '], "\u0120");
  EXPECT_EQ(vocabulary->tokens[3 + 'A'], "A");
  EXPECT_EQ(vocabulary->tokens[259], "aa");
  EXPECT_EQ(vocabulary->merges[0], "a a");
  EXPECT_EQ(vocabulary->types[0], text::TokenType::kControl);
  EXPECT_EQ(vocabulary->types[4], text::TokenType::kNormal);
  EXPECT_EQ(vocabulary->bos, 1);
  EXPECT_EQ(vocabulary->eos, 2);
  EXPECT_EQ(vocabulary->eot, std::nullopt);
  EXPECT_FALSE(vocabulary->add_bos);
  EXPECT_NE(vocabulary->chat_template.find("add_generation_prompt"), std::string::npos);
}

TEST(VocabularyFromGguf, RefusesByteTokensWithOddText) {
  for (const std::string_view odd :
       {"<0xG1>", "<0x+7>", "<0x->", "<0x1FF>", "<0x>", "", "0x41", "<0x 1>"}) {
    const std::string message = refusal(with_tokens({"a", std::string(odd)}, {1, 6}));
    EXPECT_NE(message.find("tokens[1]: a byte token must read <0xHH>"), std::string::npos)
        << message;
  }
  EXPECT_NE(refusal(with_tokens({"<0x41>", "<0x41>"}, {6, 6})).find("occurs twice"),
            std::string::npos);
  EXPECT_EQ(refusal(with_tokens({"<0x41>", "<0xff>"}, {6, 6})), "loaded");
  EXPECT_EQ(refusal(with_tokens({"<0xG1>", "<0x>"}, {1, 1})), "loaded")
      << "plain text is plain text";
}

/// An array value of type number `element`, as it stands in a file.
template <class T>
fake::Bytes array_value(std::uint32_t element, const std::vector<T>& values) {
  fake::Bytes bytes;
  const auto put = [&](const auto& value) {
    const auto raw = std::as_bytes(std::span(&value, 1));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  };
  put(std::uint32_t{9});
  put(element);
  put(std::uint64_t{values.size()});
  for (const T& value : values) put(value);
  return bytes;
}

GgufWriter of_kind(const std::string& model, const std::string& pre = "") {
  GgufWriter writer;
  writer.text("tokenizer.ggml.model", model).text("tokenizer.ggml.pre", pre);
  writer.texts("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c"});
  return writer;
}

TEST(VocabularyFromGguf, ReadsWhatSentencePieceAndWordPieceNeed) {
  auto vocabulary = vocabulary_of(
      of_kind("t5")
          .raw("tokenizer.ggml.scores", array_value<float>(6, {-1, -2.5F, 0}))
          .raw("tokenizer.ggml.precompiled_charsmap", array_value<char>(0, {'\4', '\0', 'x'}))
          .flag("tokenizer.ggml.add_space_prefix", false)
          .flag("tokenizer.ggml.remove_extra_whitespaces", true));
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.error().to_string();
  EXPECT_EQ(vocabulary->scores, (std::vector<float>{-1, -2.5F, 0}));
  EXPECT_EQ(vocabulary->charsmap, std::string("\4\0x", 3));
  EXPECT_EQ(vocabulary->space_prefix, text::SpacePrefix::kNever);
  EXPECT_TRUE(vocabulary->remove_extra_spaces);
  vocabulary = vocabulary_of(of_kind("bert")
                                 .u32("tokenizer.ggml.cls_token_id", 1)
                                 .u32("tokenizer.ggml.seperator_token_id", 2));
  ASSERT_TRUE(vocabulary.ok());
  EXPECT_EQ(vocabulary->bos, 1);
  EXPECT_EQ(vocabulary->eos, 2);
  EXPECT_NE(refusal(of_kind("llama").raw("tokenizer.ggml.scores", array_value<float>(6, {1})))
                .find("1 scores for 3 tokens"),
            std::string::npos);
  EXPECT_NE(refusal(of_kind("llama").raw("tokenizer.ggml.scores",
                                         array_value<std::int32_t>(5, {1, 2, 3})))
                .find("expected an array of f32"),
            std::string::npos);
}

TEST(VocabularyFromGguf, BeginsAndEndsTextsAsTheKindDoesWhereTheFileSaysNothing) {
  struct Frame {
    const char* model;
    const char* pre;
    bool bos;
    bool eos;
  };
  const Frame frames[] = {
      {"llama", "default", true, false}, {"bert", "", true, true},
      {"t5", "", false, true},           {"gpt2", "llama-bpe", true, false},
      {"gpt2", "qwen2", false, false},   {"gpt2", "no such", false, false},
      {"gemma4", "", true, false},
  };
  for (const Frame& frame : frames) {
    const auto vocabulary = vocabulary_of(of_kind(frame.model, frame.pre));
    ASSERT_TRUE(vocabulary.ok());
    EXPECT_EQ(vocabulary->add_bos, frame.bos) << frame.model << " " << frame.pre;
    EXPECT_EQ(vocabulary->add_eos, frame.eos) << frame.model << " " << frame.pre;
  }
  const auto told = vocabulary_of(of_kind("llama").flag("tokenizer.ggml.add_bos_token", false));
  ASSERT_TRUE(told.ok());
  EXPECT_FALSE(told->add_bos);
}

TEST(VocabularyFromGguf, RefusesTablesThatDoNotFit) {
  const std::vector<std::string> ab = {"a", "b"};
  EXPECT_NE(refusal(with_tokens(ab, {1})).find("1 types for 2 tokens"), std::string::npos);
  EXPECT_NE(refusal(with_tokens(ab, {1, 7})).find("[1]: expected a type in [1, 6], got 7"),
            std::string::npos);
  EXPECT_NE(refusal(with_tokens(ab, {0, 1})).find("got 0"), std::string::npos);
  EXPECT_NE(
      refusal(with_tokens(ab, {1, 1}).u32("tokenizer.ggml.eos_token_id", 2)).find("[0, 1], got 2"),
      std::string::npos);
  EXPECT_NE(
      refusal(with_tokens(ab, {1, 1}).without("tokenizer.ggml.model")).find("tokenizer.ggml.model"),
      std::string::npos);
  EXPECT_NE(refusal(with_tokens({}, {})).find("missing or empty"), std::string::npos);
  EXPECT_NE(refusal(with_tokens(ab, {1, 1}).u32("tokenizer.ggml.add_bos_token", 1))
                .find("expected a bool"),
            std::string::npos);
  EXPECT_NE(refusal(with_tokens(ab, {1, 1})
                        .without("tokenizer.ggml.tokens")
                        .i32s("tokenizer.ggml.tokens", std::vector<std::int32_t>{1, 2}))
                .find("expected an array of strings"),
            std::string::npos);
}

}  // namespace
}  // namespace kantha::model
