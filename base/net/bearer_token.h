#pragma once

#include <string>
#include <string_view>

#include "base/net/http.h"
#include "base/result.h"

/// `Authorization: Bearer <token>`, the way into an admin API. Any thread.
namespace kantha::net {

/// True when the headers have exactly one Authorization field and it carries this token. The
/// comparison takes the same time for every token of the right length. An empty token fits nobody.
bool has_bearer_token(const Headers& headers, std::string_view token);

/// The token in a file: its first line without surrounding blanks. kNotFound or kInvalidArgument
/// with the path; the token itself is in no message.
Result<std::string> read_token_file(const std::string& path);

}  // namespace kantha::net
