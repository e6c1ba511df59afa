#pragma once

#include <sys/stat.h>

#include <string>

#include "base/net/http.h"
#include "base/result.h"

namespace kantha::noded {

/// Who may use the admin API: whoever has the token in a file; without a file, whoever reaches it
/// (a Unix socket of mode 0600, or loopback). The file is read again when it is another one, so
/// that a rotated token works at once and the old one no longer does; while it cannot be read, the
/// last token stays. One thread.
class AdminGuard {
 public:
  /// Empty path: open to all.
  explicit AdminGuard(std::string token_path) : path_(std::move(token_path)) {}

  /// Reads the token for the first time. Errors name --admin-token-file.
  Status open();
  bool admits(const net::Headers& headers);
  /// As it is in the file now; empty without a file.
  const std::string& token();

 private:
  void refresh();

  std::string path_;
  std::string token_;
  struct stat seen_ = {};
};

/// True for addresses that no other machine reaches: Unix sockets, 127.0.0.0/8, ::1, localhost.
bool is_private_endpoint(const net::Endpoint& endpoint);

/// The value of --admin-listen. kInvalidArgument: it is no endpoint, or others reach it and there
/// is no file with a token.
Result<net::Endpoint> admin_endpoint(const std::string& text, const std::string& token_file);

}  // namespace kantha::noded
