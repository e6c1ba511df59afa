#include "engine/model/byte_cursor.h"

#include <fmt/format.h>

namespace kantha::model {

Result<std::span<const std::byte>> ByteCursor::take(std::uint64_t size, std::string_view field) {
  if (size > left()) {
    return failure(field, fmt::format("needs {} bytes, {} are left in the file", size, left()));
  }
  const auto taken = bytes_.subspan(offset_, size);
  offset_ += size;
  return taken;
}

Result<std::string_view> ByteCursor::text(std::uint64_t size_max, std::string_view field) {
  const ByteCursor start = *this;
  TRY(const auto size, read<std::uint64_t>(field));
  if (size > size_max && size <= left()) {
    return start.failure(field, fmt::format("length {} is over the limit of {}", size, size_max));
  }
  TRY(const auto raw, take(size, field));
  return std::string_view(reinterpret_cast<const char*>(raw.data()), raw.size());
}

Error ByteCursor::failure(std::string_view field, std::string_view what) const {
  return data_loss(fmt::format("offset {}: {}: {}", offset_, field, what));
}

std::string quote(std::string_view text) {
  constexpr std::size_t kShownMax = 80;
  std::string result = "\"";
  for (const char c : text.substr(0, kShownMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '"' || c == '\\') {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  result += text.size() > kShownMax ? "…\"" : "\"";
  return result;
}

}  // namespace kantha::model
