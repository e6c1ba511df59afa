#include "operator/cluster/admin_secret.h"

#include <algorithm>
#include <cstdint>

#include "base/rng.h"
#include "operator/kube/object_meta.h"
#include "operator/serving/children.h"

namespace kantha::cluster {
namespace {

constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kTokenCharsMax = 4096;
constexpr std::string_view kStandard =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrl =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string base64url_text(std::string_view bytes) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) out += kUrl[(bits >> (count - 6)) & 63];
  }
  if (count > 0) out += kUrl[(bits << (6 - count)) & 63];
  return out;
}

}  // namespace

Result<std::string> base64_bytes(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  const std::size_t end = std::min(text.size(), text.find('='));
  if (text.size() - end > 2) return invalid_argument("base64 ends in more than two '='");
  for (std::size_t i = 0; i < end; ++i) {
    const std::size_t value = kStandard.find(text[i]);
    if (value == std::string_view::npos) {
      return invalid_argument("no base64 at byte " + std::to_string(i));
    }
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>((bits >> count) & 0xFF);
  }
  return out;
}

std::string random_token() {
  std::string bytes;
  while (bytes.size() < kTokenBytes) {
    const std::uint64_t word = entropy_seed();
    for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>((word >> shift) & 0xFF);
  }
  return base64url_text(bytes);
}

Result<std::string> admin_token_of(const Json& secret, const std::string& owner_uid) {
  TRY(const kube::ObjectMeta meta, kube::object_meta_from_json(secret));
  const kube::OwnerReference* owner = meta.controller();
  if (owner == nullptr || owner->uid != owner_uid) {
    return Error{Code::kFailedPrecondition,
                 "Secret " + meta.key.to_string() + " does not belong to this ModelServing"};
  }
  const Json::json_pointer path("/data/" + std::string(serving::kAdminTokenKey));
  if (!secret.contains(path) || !secret.at(path).is_string()) {
    return invalid_argument("Secret " + meta.key.to_string() + " has no key token");
  }
  const std::string& text = secret.at(path).get_ref<const std::string&>();
  TRY(std::string token, base64_bytes(text));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  const bool clean = token.find_first_of("\r\n") == std::string::npos;
  if (token.empty() || token.size() > kTokenCharsMax || !clean) {
    return invalid_argument("Secret " + meta.key.to_string() + ": the token is no header value");
  }
  return token;
}

}  // namespace kantha::cluster
