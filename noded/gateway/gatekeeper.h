#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/net/http.h"
#include "noded/gateway/door_route.h"
#include "noded/gateway/held_tokens.h"
#include "noded/gateway/key_file.h"
#include "noded/gateway/tenant_limits.h"

/// Who comes in: key → route → model → rates → room. What is refused costs no engine anything.
/// One executor.
namespace kantha::noded {

struct GateSettings {
  std::string api_keys_file;  ///< empty: no key is asked for
  std::string model;          ///< the served one, which a request without a model means
  /// Of the pod as a whole, all tenants together.
  RateLimits pod_limits;
  /// Prompt tokens that may wait at the door, by estimate; 0: no bound but the door's own.
  std::int64_t held_tokens_max = 0;
};

enum class DoorRefusal : std::uint8_t {
  kNone,
  kNoKey,        ///< 401: none, or not as it should be
  kUnknownKey,   ///< 401
  kNoRoute,      ///< 404
  kMethod,       ///< 405
  kBody,         ///< 400: with keys, a body that the door cannot read goes no further
  kModel,        ///< 403
  kRequests,     ///< 429: rate of requests
  kTokens,       ///< 429: rate of tokens
  kConcurrency,  ///< 429: too many at one time
  kQueue,        ///< 429: too much waits for an engine
};

/// "no_key", …; stable, for metrics and the access log.
const char* door_refusal_name(DoorRefusal refusal);
inline constexpr int kDoorRefusals = static_cast<int>(DoorRefusal::kQueue) + 1;

/// What was decided on one request. Keep it until the request is answered.
struct Admission {
  DoorRefusal refusal = DoorRefusal::kNone;
  net::HttpResponse answer;  ///< when refused
  std::string tenant;        ///< empty: no key was asked for, or none was right
  std::string model;         ///< as the client named it
  net::Headers fields;       ///< x-ratelimit-*, for whatever answer comes
  double estimate = 0;       ///< prompt tokens that were set aside
  std::unique_ptr<LimitTicket> ticket;
  std::unique_ptr<HeldTokens::Share> held;
};

/// What the gatekeeper is told of the moment.
struct GateMoment {
  bool from_peer = false;   ///< another pod's door has let it in already
  bool would_wait = false;  ///< no engine takes it now
  bool nobody_waits = true;
};

class Gatekeeper {
 public:
  Gatekeeper(GateSettings settings, const Clock& clock);

  /// Reads the keys; errors name the file and the place in it.
  Status open() { return keys_.open(); }

  /// Decides. The request loses its keys; a generation gets its holder's tenant and place.
  Admission admit(net::HttpRequest& request, const DoorRoute& route, const GateMoment& moment);

  /// Keys that are listed now.
  std::int64_t key_count();
  KeyFile& key_file() { return keys_; }
  HeldTokens& held() { return held_; }
  TenantLimits& limits() { return limits_; }

 private:
  bool check_key(const net::Headers& headers, Admission& out);
  bool check_route(const net::HttpRequest& request, const DoorRoute& route, Admission& out) const;
  bool check_body(net::HttpRequest& request, const DoorRoute& route, Admission& out) const;
  bool check_rates(const GateMoment& moment, Admission& out);

  GateSettings settings_;
  KeyFile keys_;
  TenantLimits limits_;
  HeldTokens held_;
  /// Of the request that is being looked at; null without keys.
  std::shared_ptr<const KeyGrant> grant_;
};

}  // namespace kantha::noded
