#include "engine/text/utf8.h"

#include "base/check.h"

namespace kantha::text {
namespace {

/// Bounds of the second byte after a lead byte; outside them a form is overlong or out of Unicode.
struct LeadByte {
  std::uint8_t length = 0;  ///< of the whole sequence; 0: not a lead byte
  std::uint8_t second_min = 0x80;
  std::uint8_t second_max = 0xBF;
};

LeadByte lead_byte(unsigned char byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  if (byte >= 0xF1 && byte <= 0xF3) return {4};
  return {};
}

}  // namespace

CodePoint read_code_point(std::string_view text, std::size_t at) {
  CHECK(at < text.size());
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {first, 1, Utf8State::kComplete};
  const LeadByte lead = lead_byte(first);
  if (lead.length == 0) return {};
  char32_t code = first & (0x7Fu >> lead.length);
  for (std::uint8_t i = 1; i < lead.length; ++i) {
    if (at + i == text.size()) return {0xFFFD, i, Utf8State::kIncomplete};
    const auto byte = static_cast<unsigned char>(text[at + i]);
    const unsigned low = i == 1 ? lead.second_min : 0x80;
    const unsigned high = i == 1 ? lead.second_max : 0xBF;
    if (byte < low || byte > high) return {0xFFFD, i, Utf8State::kInvalid};
    code = (code << 6) | (byte & 0x3Fu);
  }
  return {code, lead.length, Utf8State::kComplete};
}

void append_code_point(std::string& out, char32_t code) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) at += read_code_point(text, at).length;
  return count;
}

std::size_t append_valid_utf8(std::string& out, std::string_view text, bool final) {
  std::size_t at = 0;
  while (at < text.size()) {
    const CodePoint point = read_code_point(text, at);
    if (point.state == Utf8State::kIncomplete && !final) break;
    if (point.state == Utf8State::kComplete) {
      out.append(text, at, point.length);
    } else {
      out.append("\xEF\xBF\xBD");
    }
    at += point.length;
  }
  return at;
}

}  // namespace kantha::text
