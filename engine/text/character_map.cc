#include "engine/text/character_map.h"

#include <cstring>

#include "engine/text/utf8.h"

namespace kantha::text {
namespace {

constexpr std::size_t kStretchMax = 256;  // far beyond any real map's; bounds a damaged one

std::uint32_t distance(std::uint32_t unit) { return (unit >> 10U) << ((unit & 0x200U) >> 6U); }

}  // namespace

Result<CharacterMap> CharacterMap::read(std::string_view data) {
  CharacterMap map;
  if (data.empty()) return map;
  std::uint32_t bytes = 0;
  if (data.size() < sizeof bytes) {
    return invalid_argument("charsmap: expected at least 4 bytes, got " +
                            std::to_string(data.size()));
  }
  std::memcpy(&bytes, data.data(), sizeof bytes);
  const std::size_t left = data.size() - sizeof bytes;
  if (bytes == 0 || bytes % sizeof(std::uint32_t) != 0 || bytes > left) {
    return invalid_argument("charsmap: expected a table of 4 to " + std::to_string(left) +
                            " bytes in units of 4, got " + std::to_string(bytes));
  }
  map.units_.resize(bytes / sizeof(std::uint32_t));
  std::memcpy(map.units_.data(), data.data() + sizeof bytes, bytes);
  map.replacements_ = data.substr(sizeof bytes + bytes);
  if (map.replacements_.empty() || map.replacements_.back() != '\0') {
    return invalid_argument("charsmap: expected its replacements to end with a zero byte");
  }
  return map;
}

CharacterMap::Match CharacterMap::longest(std::string_view text, std::size_t at) const {
  Match match;
  if (units_.empty()) return match;
  std::size_t node = distance(units_[0]);
  for (std::size_t end = at; end < text.size() && end - at < kStretchMax; ++end) {
    const auto byte = static_cast<unsigned char>(text[end]);
    node ^= byte;
    if (byte == 0 || node >= units_.size()) break;
    const std::uint32_t unit = units_[node];
    if ((unit & 0x800000FFU) != byte) break;
    node ^= distance(unit);
    if ((unit & 0x100U) == 0) continue;
    if (node >= units_.size()) break;
    match = {end + 1 - at, units_[node] & 0x7FFFFFFFU};
  }
  return match.value < replacements_.size() ? match : Match{};
}

std::string CharacterMap::apply(std::string_view text) const {
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  for (std::size_t at = 0; at < text.size();) {
    const Match match = longest(text, at);
    if (match.length > 0) {
      out += replacements_.c_str() + match.value;
      at += match.length;
      continue;
    }
    const CodePoint point = read_code_point(text, at);
    if (point.state == Utf8State::kComplete) {
      out += text.substr(at, point.length);
      at += point.length;
    } else {
      append_code_point(out, 0xFFFD);
      ++at;
    }
  }
  return out;
}

}  // namespace kantha::text
