#include "operator/serving/bounded_text.h"

namespace kantha::serving {

std::string bounded_text(std::string_view text, std::size_t bytes_max) {
  static constexpr std::string_view kMark = "…";
  if (text.size() <= bytes_max) return std::string(text);
  if (bytes_max < kMark.size()) return {};
  std::size_t end = bytes_max - kMark.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + std::string(kMark);
}

}  // namespace kantha::serving
