#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/net/http.h"
#include "base/result.h"

/// The API keys of a pod: SHA-256 digests and what each lets its holder do. The keys themselves are
/// nowhere. Pure; any thread.
///
///   {"keys": [{"sha256": "…64 hex…", "tenant": "blue", "models": ["*"], "requestsPerMinute": 600,
///              "tokensPerMinute": 100000, "maxConcurrent": 8, "priority": 0, "class": "batch",
///              "privateCache": true}]}
///
/// sha256 and tenant are required. Rates of 0, and absent ones, bind nothing. Keys of one tenant
/// share its rates and must name the same.
namespace kantha::noded {

/// Bounds of one tenant, or of a pod; 0: none.
struct RateLimits {
  std::int64_t requests_per_minute = 0;
  std::int64_t tokens_per_minute = 0;  ///< prompt and output, as the engine counted them
  std::int64_t max_concurrent = 0;     ///< requests being answered

  bool operator==(const RateLimits&) const = default;
};

/// What a key gives its holder.
struct KeyGrant {
  std::string tenant;               ///< 1 to 64 letters, digits, "-", "_", "."
  std::vector<std::string> models;  ///< served ids; empty, or with "*" among them: every one
  RateLimits limits;
  /// The best place in the engine's queue that its requests may ask for (lower is earlier).
  std::optional<std::int32_t> priority;
  std::string slo_class;       ///< interactive, agent or batch; empty: as the client says
  bool private_cache = false;  ///< shares no cached prefix with other tenants

  bool may_use(std::string_view model) const;
};

class ApiKeys {
 public:
  /// kInvalidArgument names the place ("keys[2].sha256", or the byte of what is no JSON), what was
  /// expected and what was found, but no content: somebody may have put a key where its digest
  /// belongs.
  static Result<ApiKeys> read(std::string_view text);

  /// What the key gives; nullptr for one that is not listed. Looks at every entry, whole, so that
  /// the time tells nothing of where two digests differ.
  const KeyGrant* find(std::string_view key) const;
  std::size_t count() const { return grants_.size(); }
  const std::vector<KeyGrant>& grants() const { return grants_; }

 private:
  using Digest = std::array<char, 64>;
  std::vector<Digest> digests_;  ///< lower-case hex
  std::vector<KeyGrant> grants_;
};

/// The key that a request shows: "Authorization: Bearer KEY", "api-key: KEY" or "x-api-key: KEY".
/// kUnauthenticated says what is wrong: none, another scheme, several different ones, too long.
Result<std::string_view> presented_key(const net::Headers& headers);

/// Takes the fields that carry keys out, so that none goes further than this door.
void remove_keys(net::Headers& headers);

}  // namespace kantha::noded
