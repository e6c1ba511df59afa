#include "engine/model/vocabulary_from_gguf.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <optional>

namespace kantha::model {
namespace {

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kTypes = "tokenizer.ggml.token_type";

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

/// The byte of "<0xHH>", nothing for any other text.
std::optional<int> byte_of(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
  const auto high = hex_digit(token[3]);
  const auto low = hex_digit(token[4]);
  if (!high || !low) return std::nullopt;
  return *high * 16 + *low;
}

Status check_byte_tokens(const text::Vocabulary& vocabulary) {
  std::array<bool, 256> seen = {};
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    if (vocabulary.types[i] != text::TokenType::kByte) continue;
    const auto byte = byte_of(vocabulary.tokens[i]);
    if (!byte) {
      return data_loss(fmt::format("{}[{}]: a byte token must read <0xHH>, got {}", kTokens, i,
                                   quote(vocabulary.tokens[i])));
    }
    if (seen[static_cast<std::size_t>(*byte)]) {
      return data_loss(fmt::format("{}[{}]: byte token {} occurs twice", kTokens, i,
                                   quote(vocabulary.tokens[i])));
    }
    seen[static_cast<std::size_t>(*byte)] = true;
  }
  return ok_status();
}

Status read_types(const GgufMetadata& metadata, text::Vocabulary& vocabulary) {
  vocabulary.types.assign(vocabulary.tokens.size(), text::TokenType::kNormal);
  if (metadata.find(kTypes) == nullptr) return ok_status();
  TRY(const auto types, metadata.integers(kTypes));
  if (types.size() != vocabulary.tokens.size()) {
    return data_loss(
        fmt::format("{}: {} types for {} tokens", kTypes, types.size(), vocabulary.tokens.size()));
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] < 1 || types[i] > 6) {
      return data_loss(
          fmt::format("{}[{}]: expected a type in [1, 6], got {}", kTypes, i, types[i]));
    }
    vocabulary.types[i] = text::TokenType{types[i]};
  }
  return ok_status();
}

Status read_scores(const GgufMetadata& metadata, text::Vocabulary& vocabulary) {
  constexpr std::string_view kScores = "tokenizer.ggml.scores";
  const GgufValue* value = metadata.find(kScores);
  if (value == nullptr) return ok_status();
  if (value->type != GgufType::kArray || value->element != GgufType::kF32) {
    return data_loss(fmt::format("{}: expected an array of f32, got {}", kScores,
                                 gguf_type_name(value->element)));
  }
  if (value->count != vocabulary.tokens.size()) {
    return data_loss(fmt::format("{}: {} scores for {} tokens", kScores, value->count,
                                 vocabulary.tokens.size()));
  }
  vocabulary.scores.resize(vocabulary.tokens.size());
  std::memcpy(vocabulary.scores.data(), value->raw.data(), value->raw.size());
  return ok_status();
}

Status read_charsmap(const GgufMetadata& metadata, text::Vocabulary& vocabulary) {
  constexpr std::string_view kMap = "tokenizer.ggml.precompiled_charsmap";
  const GgufValue* value = metadata.find(kMap);
  if (value == nullptr) return ok_status();
  const bool bytes = value->element == GgufType::kU8 || value->element == GgufType::kI8;
  if (value->type != GgufType::kArray || !bytes) {
    return data_loss(
        fmt::format("{}: expected an array of u8, got {}", kMap, gguf_type_name(value->element)));
  }
  vocabulary.charsmap.assign(reinterpret_cast<const char*>(value->raw.data()), value->raw.size());
  return ok_status();
}

/// Where a file says nothing: SentencePiece BPE and BERT begin with BOS, T5 ends with EOS, and of
/// byte-level BPE the pre-tokenizer's name tells.
Status read_frame(const GgufMetadata& metadata, text::Vocabulary& vocabulary) {
  const std::string& model = vocabulary.model;
  TRY(const auto add_bos, metadata.flag("tokenizer.ggml.add_bos_token"));
  vocabulary.add_bos = add_bos.value_or(text::adds_bos_by_default(vocabulary));
  TRY(const auto add_eos, metadata.flag("tokenizer.ggml.add_eos_token"));
  vocabulary.add_eos = add_eos.value_or(model == "t5" || model == "bert");
  TRY(const auto blank, metadata.flag("tokenizer.ggml.add_space_prefix"));
  if (blank) {
    vocabulary.space_prefix = *blank ? text::SpacePrefix::kAlways : text::SpacePrefix::kNever;
  }
  TRY(const auto extra, metadata.flag("tokenizer.ggml.remove_extra_whitespaces"));
  vocabulary.remove_extra_spaces = extra.value_or(false);
  return ok_status();
}

Status read_special_ids(const GgufMetadata& metadata, text::Vocabulary& vocabulary) {
  const std::pair<std::string_view, std::optional<TokenId>*> ids[] = {
      {"tokenizer.ggml.bos_token_id", &vocabulary.bos},
      {"tokenizer.ggml.eos_token_id", &vocabulary.eos},
      {"tokenizer.ggml.eot_token_id", &vocabulary.eot},
      {"tokenizer.ggml.unknown_token_id", &vocabulary.unknown},
      {"tokenizer.ggml.padding_token_id", &vocabulary.padding},
  };
  const auto last = static_cast<std::int64_t>(vocabulary.tokens.size()) - 1;
  for (const auto& [key, target] : ids) {
    TRY(const auto id, metadata.integer(key, 0, last));
    if (id) *target = static_cast<TokenId>(*id);
  }
  // BERT's names for what begins and ends a text; the second one is spelled as the files have it.
  TRY(const auto cls, metadata.integer("tokenizer.ggml.cls_token_id", 0, last));
  if (cls && !vocabulary.bos) vocabulary.bos = static_cast<TokenId>(*cls);
  TRY(const auto sep, metadata.integer("tokenizer.ggml.seperator_token_id", 0, last));
  if (sep && !vocabulary.eos) vocabulary.eos = static_cast<TokenId>(*sep);
  return ok_status();
}

Status read_texts(const GgufMetadata& metadata, text::Vocabulary& vocabulary) {
  const std::pair<std::string_view, std::string*> texts[] = {
      {"tokenizer.ggml.model", &vocabulary.model},
      {"tokenizer.ggml.pre", &vocabulary.pre},
      {"tokenizer.chat_template", &vocabulary.chat_template},
  };
  for (const auto& [key, target] : texts) {
    TRY(const auto text, metadata.text(key));
    if (text) *target = std::string(*text);
  }
  if (vocabulary.model.empty())
    return data_loss("tokenizer.ggml.model: this key is missing or empty");
  return ok_status();
}

}  // namespace

Result<text::Vocabulary> vocabulary_from_gguf(const GgufMetadata& metadata) {
  text::Vocabulary vocabulary;
  TRY_OK(read_texts(metadata, vocabulary));
  TRY(const auto tokens, metadata.texts(kTokens));
  if (tokens.empty()) return data_loss(fmt::format("{}: this key is missing or empty", kTokens));
  vocabulary.tokens.assign(tokens.begin(), tokens.end());
  TRY_OK(read_types(metadata, vocabulary));
  TRY_OK(check_byte_tokens(vocabulary));
  TRY(const auto merges, metadata.texts("tokenizer.ggml.merges"));
  vocabulary.merges.assign(merges.begin(), merges.end());
  TRY_OK(read_special_ids(metadata, vocabulary));
  TRY_OK(read_scores(metadata, vocabulary));
  TRY_OK(read_charsmap(metadata, vocabulary));
  TRY_OK(read_frame(metadata, vocabulary));
  return vocabulary;
}

}  // namespace kantha::model
