#include "base/yaml_split.h"

#include <cstdint>

namespace kantha {
namespace {

bool is_marker(std::string_view line, std::string_view marker) {
  if (!line.starts_with(marker)) return false;
  if (line.size() == marker.size()) return true;
  const char next = line[marker.size()];
  return next == ' ' || next == '\t' || next == '\r';
}

/// Length of the UTF-8 sequence at the front of `text`, 0 when it is malformed.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
  const bool beyond = lead == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

bool is_control(char c) {
  const auto byte = static_cast<std::uint8_t>(c);
  return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
}

}  // namespace

std::vector<YamlPiece> split_yaml(std::string_view text) {
  std::vector<YamlPiece> pieces;
  std::size_t start = 0;
  int start_line = 1;
  int line = 1;
  const auto cut = [&](std::size_t end, std::size_t next, int next_line) {
    if (end > start) pieces.push_back({text.substr(start, end - start), start_line});
    start = next;
    start_line = next_line;
  };
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t found = text.find('\n', at);
    const std::size_t end = found == std::string_view::npos ? text.size() : found + 1;
    const std::string_view body =
        text.substr(at, end - at - (found == std::string_view::npos ? 0 : 1));
    if (is_marker(body, "---")) cut(at, at, line);
    if (is_marker(body, "...")) cut(at, at + 3, line);
    at = end;
  }
  cut(text.size(), text.size(), line);
  return pieces;
}

int line_of_bad_byte(std::string_view text) {
  int line = 1;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') ++line;
    const std::size_t length = is_control(text[at]) ? 0 : utf8_length(text.substr(at));
    if (length == 0) return line;
    at += length;
  }
  return 0;
}

}  // namespace kantha
