#include "engine/serve/admin_guard.h"

#include "base/net/bearer_token.h"

namespace kantha::serve {

Status check_admin(Door door, const std::string& token, const net::Headers& headers) {
  if (door == Door::kUnix) return ok_status();
  if (token.empty()) {
    return Error{Code::kPermissionDenied,
                 "the admin API answers on the Unix socket only: no admin token is configured"};
  }
  if (net::has_bearer_token(headers, token)) return ok_status();
  return Error{Code::kUnauthenticated, "the admin API needs Authorization: Bearer <token>"};
}

Result<std::string> read_admin_token(const std::string& path) {
  Result<std::string> token = net::read_token_file(path);
  if (token.ok()) return token;
  Error error = std::move(token).error().with_context("admin.tokenFile");
  error.field = "admin.tokenFile";
  return error;
}

}  // namespace kantha::serve
