#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

/// The token with which the operator opens the admin doors of one ModelServing's pods. Pure but for
/// the token itself; any thread.
namespace kantha::cluster {

/// 32 bytes of the kernel's randomness as base64url, 43 characters.
std::string random_token();

/// The token in a Secret read from the API server. kFailedPrecondition: the Secret's controlling
/// owner is not the object of that uid; kInvalidArgument: it holds no token.
Result<std::string> admin_token_of(const Json& secret, const std::string& owner_uid);

/// Reads base64, as data of Secrets is. kInvalidArgument names the offset.
Result<std::string> base64_bytes(std::string_view text);

}  // namespace kantha::cluster
