#include "tests/engine/text/fuzz_targets.h"

#include <array>
#include <string>
#include <vector>

#include "base/check.h"
#include "engine/text/chat_template.h"
#include "engine/text/detokenizer.h"
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
  static const std::array<Tokenizer, 5> tokenizers = {
      make_tokenizer("gpt-2"), make_tokenizer("smollm"), make_tokenizer("default"),
      make_tokenizer("llama-bpe"), make_tokenizer("qwen2")};
  for (const Tokenizer& tokenizer : tokenizers) check_round_trip(tokenizer, text);
}

}  // namespace kantha::text
