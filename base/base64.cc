#include "base/base64.h"

#include <algorithm>

#include <cstdint>

namespace kantha {
namespace {

/// The six bits of a character, or -1.
int bits_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

Result<std::string> decode_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  int count = 0;
  int padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    const int bits = c == '=' ? 0 : bits_of(c);
    if (bits < 0) return invalid_argument("holds characters that are not base64");
    if (c == '=') {
      ++padding;
    } else if (padding > 0) {
      return invalid_argument("goes on after the end of its base64");
    }
    group = group << 6 | static_cast<std::uint32_t>(bits);
    if (++count % 4 != 0) continue;
    for (int shift = 16; shift >= 0; shift -= 8) out += static_cast<char>(group >> shift & 0xff);
    group = 0;
  }
  if (count % 4 != 0 || padding > 2) return invalid_argument("is cut short: base64 comes in fours");
  out.resize(out.size() - static_cast<std::size_t>(padding));
  return out;
}

std::string encode_base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    unsigned group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += j <= count ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

}  // namespace kantha
