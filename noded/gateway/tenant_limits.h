#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/net/http.h"
#include "noded/gateway/api_keys.h"
#include "noded/gateway/rate_bucket.h"

/// Rates of tenants and of the pod as a whole. Pure but for `now`; one thread.
///
/// A request costs one request when it is let in, and the tokens that it used when it has ended; in
/// between, an estimate of its prompt is set aside. It is let in when there is a request left and
/// any token at all, so that nothing is ever too large to be let in; whoever used more than there
/// was waits until that is paid. A refusal costs nothing.
namespace kantha::noded {

enum class LimitReason : std::uint8_t { kNone, kRequests, kTokens, kConcurrency };

/// "requests", "tokens", "concurrency".
const char* limit_reason_name(LimitReason reason);

struct LimitRefusal {
  LimitReason reason = LimitReason::kNone;
  std::string message;
  Duration retry_after{};
};

/// What one tenant, or the pod, has used.
class LimitAccount {
 public:
  void set_limits(const RateLimits& limits, double share, TimePoint now);
  /// Nothing when there is room.
  std::optional<LimitRefusal> check(std::string_view who, TimePoint now) const;
  void begin(double tokens, TimePoint now);
  void end(double set_aside, double used, TimePoint now);
  std::int64_t running() const { return running_; }
  /// The bucket with the smaller remaining share speaks in the headers.
  const RateBucket& requests() const { return requests_; }
  const RateBucket& tokens() const { return tokens_; }
  bool is_full(TimePoint now) const;

 private:
  RateBucket requests_;
  RateBucket tokens_;
  std::int64_t max_concurrent_ = 0;
  std::int64_t running_ = 0;
};

class TenantLimits;

/// A request that was let in. Ends with its life, or with finish.
class LimitTicket {
 public:
  LimitTicket(std::shared_ptr<LimitAccount> tenant, std::shared_ptr<LimitAccount> pod,
              double set_aside, const Clock& clock);
  ~LimitTicket() { finish(0); }
  LimitTicket(const LimitTicket&) = delete;
  LimitTicket& operator=(const LimitTicket&) = delete;

  /// It used so many tokens in all. The first call counts.
  void finish(std::int64_t tokens);

 private:
  std::shared_ptr<LimitAccount> tenant_;
  std::shared_ptr<LimitAccount> pod_;
  double set_aside_;
  const Clock& clock_;
};

class TenantLimits {
 public:
  TenantLimits(RateLimits pod, const Clock& clock);

  /// A ticket, or why not. `tokens` is the estimate of the prompt.
  struct Verdict {
    std::unique_ptr<LimitTicket> ticket;
    LimitRefusal refusal;
  };
  Verdict admit(const std::string& tenant, const RateLimits& limits, double tokens);

  /// OpenAI's x-ratelimit-* fields of what binds the tenant; nothing where nothing does.
  net::Headers headers(const std::string& tenant) const;

  /// Part of each tenant's and the pod's rates that this pod may give out: 1 by itself, 1/n as one
  /// of n pods that share the tenants' rates.
  void set_share(double share);
  std::size_t tenants() const { return tenants_.size(); }

 private:
  void forget_idle(TimePoint now);

  RateLimits pod_limits_;
  const Clock& clock_;
  double share_ = 1;
  std::shared_ptr<LimitAccount> pod_;
  std::map<std::string, std::shared_ptr<LimitAccount>> tenants_;
};

}  // namespace kantha::noded
