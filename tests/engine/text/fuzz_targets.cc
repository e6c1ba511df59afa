#include "tests/engine/text/fuzz_targets.h"

#include <array>

#include "base/check.h"
#include "engine/text/character_map.h"
#include "engine/text/chat_template.h"
#include "engine/text/detokenizer.h"
#include "engine/text/pre_tokenizers.h"
#include "engine/text/text_encoder.h"
#include "engine/text/word_splitter.h"
#include "tests/engine/text/text_vectors.h"
#include "tests/engine/text/tiny_vocabulary.h"

namespace kantha::text {
namespace {

const TemplateInputs& fixed_inputs() {
  static const TemplateInputs inputs = [] {
    TemplateInputs made;
    made.messages = OrderedJson::parse(R"([{"role": "system", "content": " Be brief. "},
      {"role": "user", "content": "Grüße <|im_end|>"}, {"role": "assistant", "content": null,
      "tool_calls": [{"function": {"name": "f", "arguments": {"x": [1, 2.5, true]}}}]}])");
    made.tools = OrderedJson::parse(R"([{"type": "function", "function": {"name": "f",
      "parameters": {"type": "object", "properties": {"x": {"type": "array"}}}}}])");
    made.bos_text = "<s>";
    return made;
  }();
  return inputs;
}

Tokenizer make_tokenizer(const char* pre) {
  TinyVocabulary tiny(pre);
  for (const char* pair : {"aa", "ab", "  ", "__", "12", "\n\n"}) {
    tiny.merge(std::string_view(pair).substr(0, 1), std::string_view(pair).substr(1));
  }
  tiny.merge("aa", "aa");
  tiny.merge("__", "__");
  tiny.add("<|im_end|>", TokenType::kControl);
  tiny.add("<u>", TokenType::kUserDefined);
  return tiny.build();
}

/// A tiny vocabulary of SentencePiece's or WordPiece's shape, with every byte where it can.
Tokenizer make_piece_tokenizer(const char* model) {
  Vocabulary made;
  made.model = model;
  made.unknown = 0;
  // With a blank behind every token that is found by name a text would not come back as it was.
  if (made.model == "llama") made.space_prefix = SpacePrefix::kFirst;
  const auto add = [&](std::string token, TokenType type, float score) {
    made.tokens.push_back(std::move(token));
    made.types.push_back(type);
    made.scores.push_back(score);
  };
  add("<unk>", TokenType::kUnknown, 0);
  add("<|im_end|>", TokenType::kControl, 0);
  add("<u>", TokenType::kUserDefined, 0);
  const bool has_bytes = made.model == "llama" || made.model == "gemma4";
  for (int byte = 0; has_bytes && byte < 256; ++byte) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    add(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">", TokenType::kByte, 0);
  }
  for (const char* token : {"a", "b", "▁", "▁a", "aa", "ab", "▁ab", "aaaa", "▁▁", "é", "1", "12"}) {
    add(token, TokenType::kNormal, -static_cast<float>(made.tokens.size()));
  }
  if (made.model == "gemma4") made.merges = {"a a", "a b", "▁ a", "▁ ▁", "aa aa", "1 2"};
  made.tokens.push_back("2");
  made.types.push_back(TokenType::kNormal);
  made.scores.push_back(-40);
  Result<Tokenizer> built = Tokenizer::build(std::move(made));
  CHECK(built.ok(), built.ok() ? "" : built.error().message.c_str());
  return std::move(built).value();
}

void check_round_trip(const Tokenizer& tokenizer, std::string_view text) {
  const std::vector<TokenId> plain = tokenizer.encode(text, false);
  CHECK(tokenizer.decode(plain, true) == text);
  for (const TokenId id : plain) CHECK(!tokenizer.is_control(id));
  CHECK(tokenizer.decode(tokenizer.encode(text, true), true) == text);
  const std::size_t third = text.size() / 3;
  const std::array<PromptPiece, 3> pieces = {
      PromptPiece{std::string(text.substr(0, third)), false},
      PromptPiece{std::string(text.substr(third, third)), true},
      PromptPiece{std::string(text.substr(2 * third)), false}};
  CHECK(tokenizer.decode(tokenizer.encode(pieces), true) == text);
  Detokenizer whole(tokenizer, {"ab", "\n\n", "<u>a"});
  for (const TokenId id : plain) whole.push(id);
  whole.flush();
}

}  // namespace

void fuzz_template(std::string_view source) {
  TemplateLimits limits;
  limits.steps_max = 20'000;
  limits.output_bytes_max = 64 << 10;
  const Result<ChatTemplate> parsed = ChatTemplate::parse(source, limits);
  if (!parsed.ok()) {
    CHECK(!parsed.error().message.empty());
    return;
  }
  const auto pieces = parsed.value().render(fixed_inputs());
  if (!pieces.ok()) return;
  std::size_t size = 0;
  for (const PromptPiece& piece : pieces.value()) size += piece.text.size();
  CHECK(size <= limits.output_bytes_max);
}

void fuzz_tokenizer(std::string_view text) {
  static const std::array<Tokenizer, 9> byte_level = {
      make_tokenizer("gpt-2"),  make_tokenizer("smollm"),      make_tokenizer("default"),
      make_tokenizer("qwen2"),  make_tokenizer("llama-bpe"),   make_tokenizer("gpt-4o"),
      make_tokenizer("jais-2"), make_tokenizer("deepseek-v3"), make_tokenizer("tiny_aya")};
  for (const Tokenizer& tokenizer : byte_level) check_round_trip(tokenizer, text);
  static const std::array<Tokenizer, 2> sentence_piece = {make_piece_tokenizer("llama"),
                                                          make_piece_tokenizer("gemma4")};
  for (const Tokenizer& tokenizer : sentence_piece) {
    // A typed ▁ reads as a blank afterwards; everything else comes back byte for byte.
    if (text.find(kBlankSign) == std::string_view::npos) check_round_trip(tokenizer, text);
  }
  static const std::array<Tokenizer, 2> lossy = {make_piece_tokenizer("t5"),
                                                 make_piece_tokenizer("bert")};
  for (const Tokenizer& tokenizer : lossy) {
    const std::vector<TokenId> ids = tokenizer.encode(text, false);
    // Every word may begin with a blank sign of its own.
    CHECK(ids.size() <= 2 * text.size() + 1);
    tokenizer.decode(ids, true);
  }
}

void fuzz_pattern(std::string_view source) {
  const Result<WordSplitter> splitter = WordSplitter::build(std::array{std::string(source)});
  if (!splitter.ok()) {
    CHECK(!splitter.error().message.empty());
    return;
  }
  const std::string_view text = "Don't stop: 1234567 ab\u0301c \n\n  中文 ДА \xFF\xFE\t x";
  std::size_t start = 0;
  for (const std::size_t end : splitter->split(text)) {
    CHECK(start < end);
    start = end;
  }
  CHECK(start == text.size());
}

void fuzz_character_map(std::string_view data) {
  const Result<CharacterMap> map = CharacterMap::read(data);
  if (!map.ok()) return;
  const std::string text = "ﬁne ½ Ａ\xFF é \u0301\u0301 中";
  CHECK(map->apply(text).size() <= (text.size() + 1) * (data.size() + 4));
}

std::vector<std::string> template_corpus() {
  const OrderedJson vectors = read_vectors("template_vectors.json");
  std::vector<std::string> corpus;
  for (const auto& [name, source] : vectors["templates"].items()) corpus.push_back(source);
  for (const OrderedJson& row : vectors["rows"]) {
    if (row.contains("source")) corpus.push_back(row["source"]);
  }
  return corpus;
}

std::vector<std::string> text_corpus() {
  return {"",
          "aaaa bb",
          "<|im_end|>",
          "<u><|im_end|><u",
          "12 345\n\n ",
          "don't DON'T é中😀",
          "\xF0\x9F\xE4\x80"};
}

std::vector<std::string> pattern_corpus() {
  std::vector<std::string> corpus;
  for (const std::string_view name : pre_tokenizer_names()) {
    for (const std::string& split : pre_tokenizer(name).value().splits) corpus.push_back(split);
  }
  return corpus;
}

std::vector<std::string> character_map_corpus() {
  // A map of one entry, "A" to "b", and noise around it.
  return {std::string("\x08\0\0\0\0\x04\0\0\x41\x01\0\0b\0", 14),
          std::string("\x04\0\0\0\xFF\xFF\xFF\x7F\0", 9)};
}

}  // namespace kantha::text
