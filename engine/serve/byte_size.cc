#include "engine/serve/byte_size.h"

#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <utility>

namespace kantha::serve {
namespace {

constexpr std::array<std::pair<std::string_view, std::int64_t>, 9> kUnits{{
    {"", 1},
    {"Ki", std::int64_t{1} << 10},
    {"Mi", std::int64_t{1} << 20},
    {"Gi", std::int64_t{1} << 30},
    {"Ti", std::int64_t{1} << 40},
    {"k", 1'000},
    {"M", 1'000'000},
    {"G", 1'000'000'000},
    {"T", 1'000'000'000'000},
}};

}  // namespace

Result<std::int64_t> parse_byte_size(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error == std::errc() && count > 0) {
    for (const auto& [name, factor] : kUnits) {
      if (unit != name) continue;
      if (count > std::numeric_limits<std::int64_t>::max() / factor) break;
      return count * factor;
    }
  }
  return invalid_argument("expected a size like 512Mi or a number of bytes, got \"" +
                          std::string(text.substr(0, 40)) + "\"");
}

}  // namespace kantha::serve
