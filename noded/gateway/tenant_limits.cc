#include "noded/gateway/tenant_limits.h"

#include <algorithm>
#include <cmath>

namespace kantha::noded {
namespace {

/// Tenants whose use is remembered before those that have nothing to pay are forgotten.
constexpr std::size_t kTenantsBeforeTidying = 1024;
constexpr Duration kConcurrencyRetry = std::chrono::seconds(1);

std::string rate_text(double per_minute) {
  return std::to_string(static_cast<std::int64_t>(std::llround(per_minute)));
}

/// "1s", "6m0s", "120ms": as OpenAI has it.
std::string reset_text(Duration wait) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(wait).count();
  constexpr std::int64_t kSecond = 1000;
  if (ms < kSecond) return std::to_string(ms) + "ms";
  const std::int64_t seconds = (ms + kSecond - 1) / kSecond;
  constexpr std::int64_t kMinute = 60;
  if (seconds < kMinute) return std::to_string(seconds) + "s";
  return std::to_string(seconds / kMinute) + "m" + std::to_string(seconds % kMinute) + "s";
}

void add_bucket(net::Headers& headers, const std::string& what, const RateBucket& tenant,
                const RateBucket& pod, TimePoint now) {
  // Whichever leaves less speaks.
  const bool pod_speaks =
      pod.is_bound() && (!tenant.is_bound() || pod.level(now) < tenant.level(now));
  const RateBucket& bucket = pod_speaks ? pod : tenant;
  if (!bucket.is_bound()) return;
  const double left = std::max(0.0, std::floor(bucket.level(now)));
  headers.set("x-ratelimit-limit-" + what, rate_text(bucket.per_minute()));
  headers.set("x-ratelimit-remaining-" + what, rate_text(left));
  headers.set("x-ratelimit-reset-" + what, reset_text(bucket.until(bucket.per_minute(), now)));
}

}  // namespace

const char* limit_reason_name(LimitReason reason) {
  switch (reason) {
    case LimitReason::kNone: return "none";
    case LimitReason::kRequests: return "requests";
    case LimitReason::kTokens: return "tokens";
    case LimitReason::kConcurrency: return "concurrency";
  }
  return "none";
}

void LimitAccount::set_limits(const RateLimits& limits, double share, TimePoint now) {
  requests_.set_rate(static_cast<double>(limits.requests_per_minute) * share, now);
  tokens_.set_rate(static_cast<double>(limits.tokens_per_minute) * share, now);
  max_concurrent_ = limits.max_concurrent;
}

std::optional<LimitRefusal> LimitAccount::check(std::string_view who, TimePoint now) const {
  const std::string name(who);
  if (max_concurrent_ > 0 && running_ >= max_concurrent_) {
    return LimitRefusal{LimitReason::kConcurrency,
                        name + " has " + std::to_string(running_) +
                            " requests being answered; the limit is " +
                            std::to_string(max_concurrent_),
                        kConcurrencyRetry};
  }
  // A rate below one a minute would never hold a whole one.
  const double one = std::min(1.0, requests_.per_minute());
  if (const Duration wait = requests_.until(one, now); wait > Duration{}) {
    return LimitRefusal{LimitReason::kRequests,
                        "rate limit of " + name + ": " + rate_text(requests_.per_minute()) +
                            " requests a minute, all used",
                        wait};
  }
  if (const Duration wait = tokens_.until(std::min(1.0, tokens_.per_minute()), now);
      wait > Duration{}) {
    return LimitRefusal{LimitReason::kTokens,
                        "rate limit of " + name + ": " + rate_text(tokens_.per_minute()) +
                            " tokens a minute, all used",
                        wait};
  }
  return std::nullopt;
}

void LimitAccount::begin(double tokens, TimePoint now) {
  ++running_;
  requests_.take(1, now);
  tokens_.take(tokens, now);
}

void LimitAccount::end(double set_aside, double used, TimePoint now) {
  --running_;
  tokens_.take(used - set_aside, now);
}

bool LimitAccount::is_full(TimePoint now) const {
  return requests_.level(now) >= requests_.per_minute() &&
         tokens_.level(now) >= tokens_.per_minute();
}

LimitTicket::LimitTicket(std::shared_ptr<LimitAccount> tenant, std::shared_ptr<LimitAccount> pod,
                         double set_aside, const Clock& clock)
    : tenant_(std::move(tenant)), pod_(std::move(pod)), set_aside_(set_aside), clock_(clock) {
  const TimePoint now = clock_.now();
  tenant_->begin(set_aside_, now);
  pod_->begin(set_aside_, now);
}

void LimitTicket::finish(std::int64_t tokens) {
  if (tenant_ == nullptr) return;
  const TimePoint now = clock_.now();
  const auto used = static_cast<double>(std::max<std::int64_t>(tokens, 0));
  tenant_->end(set_aside_, used, now);
  pod_->end(set_aside_, used, now);
  tenant_.reset();
  pod_.reset();
}

TenantLimits::TenantLimits(RateLimits pod, const Clock& clock)
    : pod_limits_(pod), clock_(clock), pod_(std::make_shared<LimitAccount>()) {
  pod_->set_limits(pod_limits_, share_, clock_.now());
}

TenantLimits::Verdict TenantLimits::admit(const std::string& tenant, const RateLimits& limits,
                                          double tokens) {
  const TimePoint now = clock_.now();
  if (tenants_.size() > kTenantsBeforeTidying) forget_idle(now);
  std::shared_ptr<LimitAccount>& account = tenants_[tenant];
  if (account == nullptr) account = std::make_shared<LimitAccount>();
  account->set_limits(limits, share_, now);
  const std::string who = tenant.empty() ? "this door" : "tenant \"" + tenant + "\"";
  if (auto refusal = account->check(who, now)) return {nullptr, *std::move(refusal)};
  if (auto refusal = pod_->check("this pod", now)) return {nullptr, *std::move(refusal)};
  return {std::make_unique<LimitTicket>(account, pod_, tokens, clock_), {}};
}

net::Headers TenantLimits::headers(const std::string& tenant) const {
  net::Headers out;
  const auto found = tenants_.find(tenant);
  if (found == tenants_.end()) return out;
  const TimePoint now = clock_.now();
  add_bucket(out, "requests", found->second->requests(), pod_->requests(), now);
  add_bucket(out, "tokens", found->second->tokens(), pod_->tokens(), now);
  return out;
}

void TenantLimits::set_share(double share) {
  share_ = share;
  pod_->set_limits(pod_limits_, share_, clock_.now());
}

void TenantLimits::forget_idle(TimePoint now) {
  std::erase_if(tenants_, [now](const auto& entry) {
    return entry.second->running() == 0 && entry.second->is_full(now);
  });
}

}  // namespace kantha::noded
