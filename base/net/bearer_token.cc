#include "base/net/bearer_token.h"

#include <fstream>

#include "base/digest.h"
#include "base/net/ascii.h"

namespace kantha::net {
namespace {

constexpr std::size_t kTokenBytesMax = 4096;

}  // namespace

bool has_bearer_token(const Headers& headers, std::string_view token) {
  if (token.empty()) return false;
  const std::string expected = "Bearer " + std::string(token);
  int count = 0;
  bool right = false;
  for (const auto& [name, value] : headers.all()) {
    if (!equals_ignoring_case(name, "authorization")) continue;
    ++count;
    right = equal_in_constant_time(value, expected);
  }
  return count == 1 && right;
}

Result<std::string> read_token_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return not_found(path + " cannot be opened");
  std::string line;
  std::getline(file, line);
  const auto first = line.find_first_not_of(" \t\r");
  if (first == std::string::npos || line.size() > kTokenBytesMax) {
    return invalid_argument(path + " holds no token");
  }
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace kantha::net
