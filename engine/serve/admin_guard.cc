#include "engine/serve/admin_guard.h"

#include <fstream>
#include <string_view>

namespace kantha::serve {
namespace {

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

bool is_authorization(std::string_view name) {
  constexpr std::string_view kName = "authorization";
  if (name.size() != kName.size()) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if ((static_cast<unsigned char>(name[i]) | 0x20) != static_cast<unsigned char>(kName[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace

Status check_admin(Door door, const std::string& token, const net::Headers& headers) {
  if (door == Door::kUnix) return ok_status();
  if (token.empty()) {
    return Error{Code::kPermissionDenied,
                 "the admin API answers on the Unix socket only: no admin token is configured"};
  }
  int count = 0;
  bool right = false;
  for (const auto& [name, value] : headers.all()) {
    if (!is_authorization(name)) continue;
    ++count;
    right = equal_in_constant_time(value, "Bearer " + token);
  }
  if (count == 1 && right) return ok_status();
  return Error{Code::kUnauthenticated, "the admin API needs Authorization: Bearer <token>"};
}

Result<std::string> read_admin_token(const std::string& path) {
  std::ifstream file(path);
  if (!file) return not_found("admin.tokenFile: " + path + " cannot be opened");
  std::string line;
  std::getline(file, line);
  const auto first = line.find_first_not_of(" \t\r");
  if (first == std::string::npos || line.size() > 4096) {
    return invalid_argument("admin.tokenFile: " + path + " holds no token", "admin.tokenFile");
  }
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace kantha::serve
