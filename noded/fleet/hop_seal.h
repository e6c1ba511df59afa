#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/net/http.h"
#include "base/result.h"

/// The mark of a request that came from another pod of the same ModelServing: the header
/// x-kantha-hop. Whoever receives one answers it himself (one hop only) and asks for no API key
/// again: the pod before did. One thread.
///
///     from=a-0;to=a-1;at=1764489600000;mac=<HMAC-SHA-256 as hex>
///
/// The key is derived from the admin token that all pods of one ModelServing share; the mark is
/// good for one receiver, one method and target, and a minute. So a client cannot make one, and a
/// pod that got another one's address by accident can do nothing with what it is sent.
namespace kantha::noded {

inline constexpr std::string_view kHopHeader = "x-kantha-hop";

class HopSeal {
 public:
  /// `token` gives the shared secret as it is now; while it is empty nothing is sealed or believed.
  HopSeal(std::string pod, std::function<std::string()> token, const Clock& clock);

  /// The value of the header for a request to that pod; empty without a secret.
  std::string seal(std::string_view to, std::string_view method, std::string_view target) const;
  /// Name of the pod that sealed it. kUnauthenticated says what is wrong with it.
  Result<std::string> open(std::string_view mark, std::string_view method,
                           std::string_view target) const;

 private:
  std::string mac_of(std::string_view text, std::string_view method, std::string_view target) const;

  std::string pod_;
  std::function<std::string()> token_;
  const Clock& clock_;
};

}  // namespace kantha::noded
