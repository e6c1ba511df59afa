#include "noded/gateway/admin_guard.h"

#include "base/log.h"
#include "base/net/bearer_token.h"

namespace kantha::noded {
namespace {

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

Status AdminGuard::open() {
  if (path_.empty()) return ok_status();
  ::stat(path_.c_str(), &seen_);
  Result<std::string> token = net::read_token_file(path_);
  if (!token.ok()) return std::move(token).error().with_context("--admin-token-file");
  token_ = std::move(token).value();
  return ok_status();
}

void AdminGuard::refresh() {
  struct stat info = {};
  if (::stat(path_.c_str(), &info) != 0 || same_file(info, seen_)) return;
  seen_ = info;
  Result<std::string> token = net::read_token_file(path_);
  if (!token.ok()) {
    log_warn("the admin token stays as it was", {{"error", token.error().message}});
    return;
  }
  if (token_ != *token) log_info("the admin token is another one", {{"file", path_}});
  token_ = std::move(token).value();
}

bool AdminGuard::admits(const net::Headers& headers) {
  if (path_.empty()) return true;
  refresh();
  return net::has_bearer_token(headers, token_);
}

const std::string& AdminGuard::token() {
  if (!path_.empty()) refresh();
  return token_;
}

bool is_private_endpoint(const net::Endpoint& endpoint) {
  return endpoint.is_unix() || endpoint.host == "localhost" || endpoint.host == "::1" ||
         endpoint.host.starts_with("127.");
}

Result<net::Endpoint> admin_endpoint(const std::string& text, const std::string& token_file) {
  Result<net::Endpoint> endpoint = net::parse_endpoint(text);
  if (!endpoint.ok()) return std::move(endpoint).error().with_context("--admin-listen");
  if (!token_file.empty() || is_private_endpoint(*endpoint)) return endpoint;
  return invalid_argument("--admin-listen " + endpoint->to_string() +
                          ": an admin API that others reach needs --admin-token-file");
}

}  // namespace kantha::noded
