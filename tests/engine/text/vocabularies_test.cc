#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/engine/text/encoding_digests.h"
#include "tests/engine/text/fetched_vocabulary.h"

namespace kantha::text {
namespace {

using Ids = std::vector<TokenId>;

struct Vector {
  std::string text;
  Ids ids;
};

/// The texts of X.gguf.inp with the ids of X.gguf.out, line by line.
std::vector<Vector> read_vectors_of(const std::filesystem::path& gguf) {
  const std::string separator = "\n__ggml_vocab_test__\n";
  const std::string texts = whole_text(gguf.string() + ".inp");
  std::istringstream lines(whole_text(gguf.string() + ".out"));
  std::vector<Vector> vectors;
  std::size_t at = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t end = std::min(texts.find(separator, at), texts.size());
    Vector row{texts.substr(at, end - at), {}};
    std::istringstream numbers(line);
    for (TokenId id = 0; numbers >> id;) row.ids.push_back(id);
    vectors.push_back(std::move(row));
    at = std::min(end + separator.size(), texts.size());
  }
  return vectors;
}

class Vocabularies : public testing::TestWithParam<const char*> {};

TEST_P(Vocabularies, GivesTheIdsOfTheModelsOwnTokenizer) {
  SKIP_WITHOUT_VOCABULARIES();
  const std::filesystem::path path = vocabulary_folder() / (std::string(GetParam()) + ".gguf");
  const Result<Tokenizer> tokenizer = read_tokenizer(path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().to_string();
  const std::vector<Vector> vectors = read_vectors_of(path);
  ASSERT_GT(vectors.size(), 40u);
  for (const Vector& row : vectors) {
    EXPECT_EQ(tokenizer->encode(row.text, /*parse_special=*/false), row.ids) << row.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Real, Vocabularies,
                         testing::Values("bert-bge", "command-r", "deepseek-coder", "deepseek-llm",
                                         "falcon", "gemma-4", "gpt-2", "llama-bpe", "llama-spm",
                                         "mpt", "phi-3", "qwen2", "qwen35", "refact", "starcoder"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(GeneratedTexts, GetTheReferencesIdsFromEveryKindOfTokenizer) {
  SKIP_WITHOUT_VOCABULARIES();
  for (const char* name : {"gemma-4", "llama-spm"}) {
    const Result<Tokenizer> tokenizer =
        read_tokenizer(vocabulary_folder() / (std::string(name) + ".gguf"));
    ASSERT_TRUE(tokenizer.ok()) << name << ": " << tokenizer.error().to_string();
    expect_reference_ids(*tokenizer, name);
  }
}

TEST(VocabulariesWithoutVectors, LoadAndGiveTheTextBack) {
  SKIP_WITHOUT_VOCABULARIES();
  for (const char* name : {"baichuan", "llama-spm", "gemma-4", "qwen2", "nomic-bert-moe"}) {
    const Result<Tokenizer> tokenizer =
        read_tokenizer(vocabulary_folder() / (std::string(name) + ".gguf"));
    ASSERT_TRUE(tokenizer.ok()) << name << ": " << tokenizer.error().to_string();
    for (const std::string text : {"Hello, world", "naïve 中文 12", "The quick brown fox", "a"}) {
      EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, false), false), text) << name;
    }
  }
}

TEST(VocabulariesWithoutVectors, AreRefusedWhereTheFileDoesNotNameItsPreTokenizer) {
  SKIP_WITHOUT_VOCABULARIES();
  for (const char* name : {"aquila", "gpt-neox"}) {
    const Result<Tokenizer> tokenizer =
        read_tokenizer(vocabulary_folder() / (std::string(name) + ".gguf"));
    ASSERT_FALSE(tokenizer.ok()) << name;
    EXPECT_EQ(tokenizer.error().code, Code::kUnimplemented);
    EXPECT_NE(tokenizer.error().message.find("pre-tokenizer \"\" is not known"), std::string::npos);
  }
}

TEST(VocabulariesWithoutVectors, KeepTheBlanksOfAFirstTokenThatIsStreamed) {
  SKIP_WITHOUT_VOCABULARIES();
  const Result<Tokenizer> tokenizer = read_tokenizer(vocabulary_folder() / "llama-spm.gguf");
  ASSERT_TRUE(tokenizer.ok());
  // Only the blank that encode() put in front is taken away, and only once.
  for (const std::string text : {" a", "    if", "a b", "\n", "é 中 🦩"}) {
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, false), false), text);
  }
  EXPECT_EQ(tokenizer->encode("<s>", true), (Ids{1}));
  EXPECT_NE(tokenizer->encode("<s>", false), (Ids{1}));
}

}  // namespace
}  // namespace kantha::text
