#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

/// SHA-256 as lower-case hex. Any thread.
namespace kantha {

/// A digest of bytes that come in pieces. One thread at a time; move-only.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void add(std::string_view bytes);
  /// Of all bytes so far; once, at the end.
  std::string hex();

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

/// Digest of the bytes.
std::string sha256_hex(std::string_view bytes);
/// Digest of a file's content; kNotFound or kInternal with the path.
Result<std::string> sha256_hex_of_file(const std::string& path);
/// HMAC-SHA-256 (RFC 2104) of the text under a secret key, as lower-case hex.
std::string hmac_sha256_hex(std::string_view key, std::string_view text);
/// Compares two secrets, or digests of them, in a time that does not tell where they differ; of the
/// lengths it does.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace kantha
