#include "engine/text/byte_alphabet.h"

#include "engine/text/utf8.h"

namespace kantha::text {
namespace {

bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

}  // namespace

ByteAlphabet::ByteAlphabet() {
  bytes_.fill(-1);
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char32_t code = stands_for_itself(byte) ? byte : next++;
    bytes_[code] = static_cast<std::int16_t>(byte);
    append_code_point(spellings_[byte], code);
  }
}

std::string ByteAlphabet::bytes_of(std::string_view token) const {
  std::string bytes;
  for (std::size_t at = 0; at < token.size();) {
    const CodePoint point = read_code_point(token, at);
    const bool known = point.state == Utf8State::kComplete && point.code < bytes_.size() &&
                       bytes_[point.code] >= 0;
    if (!known) return std::string(token);
    bytes.push_back(static_cast<char>(bytes_[point.code]));
    at += point.length;
  }
  return bytes;
}

}  // namespace kantha::text
