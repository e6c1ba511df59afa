#pragma once

#include <string>

#include "base/net/http.h"
#include "base/result.h"
#include "engine/serve/routes.h"

namespace kantha::serve {

/// Who may use /admin: whoever can open the Unix socket (its mode is 0600), or on TCP whoever sends
/// `Authorization: Bearer <token>`, once and exactly. Without a configured token TCP gets
/// kPermissionDenied; a wrong one is kUnauthenticated. The comparison takes the same time for every
/// token of the right length. Pure.
Status check_admin(Door door, const std::string& token, const net::Headers& headers);

/// The token in a file: its first line without surrounding blanks; empty files are errors.
Result<std::string> read_admin_token(const std::string& path);

}  // namespace kantha::serve
