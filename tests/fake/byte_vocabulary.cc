#include "tests/fake/byte_vocabulary.h"

#include <string>

namespace kantha::fake {
namespace {

/// UTF-8 of a code point below 0x800.
std::string utf8(int point) {
  if (point < 0x80) return std::string(1, static_cast<char>(point));
  return {static_cast<char>(0xC0 | (point >> 6)), static_cast<char>(0x80 | (point & 0x3F))};
}

/// Byte-level BPE's printable alphabet: bytes that print stand for themselves, the others are
/// numbered from 256.
bool prints(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

}  // namespace

text::Vocabulary byte_vocabulary() {
  text::Vocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = "smollm";
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.push_back(utf8(prints(byte) ? byte : next++));
    vocabulary.types.push_back(text::TokenType::kNormal);
  }
  for (const char* control : {"<|im_start|>", "<|im_end|>", "<|endoftext|>"}) {
    vocabulary.tokens.emplace_back(control);
    vocabulary.types.push_back(text::TokenType::kControl);
  }
  vocabulary.eos = kTurnEnd;
  vocabulary.chat_template =
      "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + "
      "message['content'] + '<|im_end|>\\n' }}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
  return vocabulary;
}

std::vector<TokenId> byte_tokens(std::string_view text) {
  std::vector<TokenId> ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

}  // namespace kantha::fake
