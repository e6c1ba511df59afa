#include "noded/gateway/gatekeeper.h"

#include <algorithm>
#include <array>
#include <utility>

#include "noded/gateway/door_error.h"
#include "noded/gateway/request_stamp.h"

namespace kantha::noded {
namespace {

bool refuse(Admission& out, DoorRefusal refusal, const DoorError& error) {
  out.refusal = refusal;
  out.answer = door_error(error);
  return false;
}

bool refuse_key(Admission& out, DoorRefusal refusal, std::string message) {
  refuse(out, refusal,
         {.status = 401,
          .message = std::move(message),
          .type = "authentication_error",
          .code = "invalid_api_key"});
  out.answer.headers.set("WWW-Authenticate", "Bearer");
  return false;
}

DoorRefusal refusal_of(LimitReason reason) {
  switch (reason) {
    case LimitReason::kNone: return DoorRefusal::kNone;
    case LimitReason::kRequests: return DoorRefusal::kRequests;
    case LimitReason::kTokens: return DoorRefusal::kTokens;
    case LimitReason::kConcurrency: return DoorRefusal::kConcurrency;
  }
  return DoorRefusal::kNone;
}

/// A client that comes back sooner would only be refused again.
int whole_seconds(Duration wait) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
  return static_cast<int>(std::max<std::int64_t>(seconds, 1));
}

constexpr std::size_t kShownBytesMax = 128;

}  // namespace

const char* door_refusal_name(DoorRefusal refusal) {
  constexpr std::array<const char*, kDoorRefusals> kNames = {
      "",      "no_key",   "unknown_key", "no_route",    "method", "body",
      "model", "requests", "tokens",      "concurrency", "queue"};
  return kNames[static_cast<std::size_t>(refusal)];
}

Gatekeeper::Gatekeeper(GateSettings settings, const Clock& clock)
    : settings_(std::move(settings)),
      keys_(settings_.api_keys_file),
      limits_(settings_.pod_limits, clock),
      held_(settings_.held_tokens_max) {}

std::int64_t Gatekeeper::key_count() {
  const auto keys = keys_.keys();
  return keys == nullptr ? 0 : static_cast<std::int64_t>(keys->count());
}

Admission Gatekeeper::admit(net::HttpRequest& request, const DoorRoute& route,
                            const GateMoment& moment) {
  Admission out;
  grant_.reset();
  if (!moment.from_peer && keys_.asks_for_keys() && !check_key(request.headers, out)) return out;
  remove_keys(request.headers);
  if (!check_route(request, route, out)) return out;
  if (!route.is_post || moment.from_peer) return out;
  if (!check_body(request, route, out)) return out;
  check_rates(moment, out);
  return out;
}

bool Gatekeeper::check_key(const net::Headers& headers, Admission& out) {
  const Result<std::string_view> key = presented_key(headers);
  if (!key.ok()) return refuse_key(out, DoorRefusal::kNoKey, key.error().message);
  const std::shared_ptr<const ApiKeys> keys = keys_.keys();
  const KeyGrant* grant = keys->find(*key);
  if (grant == nullptr) return refuse_key(out, DoorRefusal::kUnknownKey, "this API key is unknown");
  grant_ = {keys, grant};
  out.tenant = grant->tenant;
  return true;
}

bool Gatekeeper::check_route(const net::HttpRequest& request, const DoorRoute& route,
                             Admission& out) const {
  if (route.page == DoorPage::kNone) {
    const std::string path(request.path().substr(0, kShownBytesMax));
    return refuse(out, DoorRefusal::kNoRoute,
                  {.status = 404, .message = "no such route: " + path, .code = "not_found"});
  }
  if (allows(route, request.method)) return true;
  const std::string allowed = allowed_methods(route);
  refuse(out, DoorRefusal::kMethod,
         {.status = 405,
          .message = "this route answers " + allowed + " only",
          .code = "method_not_allowed"});
  out.answer.headers.set("Allow", allowed);
  return false;
}

bool Gatekeeper::check_body(net::HttpRequest& request, const DoorRoute& route,
                            Admission& out) const {
  const RequestFacts facts = read_request_facts(request.body);
  out.model = facts.model.value_or("");
  out.estimate = route.page == DoorPage::kGenerate ? estimated_tokens(request.body) : 0;
  if (grant_ == nullptr) return true;
  if (!facts.outline) {
    return refuse(out, DoorRefusal::kBody,
                  {.status = 400,
                   .message = "the body is no JSON object with at most 256 members, each once"});
  }
  const std::string& asked = facts.model ? *facts.model : settings_.model;
  if (!grant_->may_use(asked)) {
    return refuse(out, DoorRefusal::kModel,
                  {.status = 403,
                   .message = "this API key may not use the model \"" +
                              asked.substr(0, kShownBytesMax) + "\"",
                   .type = "permission_error",
                   .code = "model_not_allowed",
                   .param = "model"});
  }
  if (route.page == DoorPage::kGenerate) {
    request.body = stamped_body(request.body, facts, *grant_);
  }
  return true;
}

bool Gatekeeper::check_rates(const GateMoment& moment, Admission& out) {
  if (moment.nobody_waits) held_.clear();
  if (moment.would_wait) {
    out.held = held_.take(out.estimate);
    if (out.held == nullptr) {
      return refuse(
          out, DoorRefusal::kQueue,
          {.status = 429,
           .message =
               "requests of about " + std::to_string(static_cast<std::int64_t>(held_.held())) +
               " prompt tokens wait for an engine; the limit is " + std::to_string(held_.max()),
           .type = "server_error",
           .code = "queue_full",
           .retry_after_seconds = 1});
    }
  }
  const RateLimits limits = grant_ == nullptr ? RateLimits() : grant_->limits;
  TenantLimits::Verdict verdict = limits_.admit(out.tenant, limits, out.estimate);
  out.ticket = std::move(verdict.ticket);
  out.fields = limits_.headers(out.tenant);
  if (out.ticket != nullptr) return true;
  out.held.reset();
  const LimitRefusal& why = verdict.refusal;
  return refuse(out, refusal_of(why.reason),
                {.status = 429,
                 .message = why.message,
                 .type = limit_reason_name(why.reason),
                 .code = "rate_limit_exceeded",
                 .retry_after_seconds = whole_seconds(why.retry_after)});
}

}  // namespace kantha::noded
