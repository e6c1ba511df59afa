#include "noded/gateway/forward_exchange.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/rng.h"

namespace kantha::noded {
namespace {

constexpr std::array<std::string_view, 11> kHopFields = {"Connection",
                                                         "Keep-Alive",
                                                         "Proxy-Connection",
                                                         "Proxy-Authenticate",
                                                         "Proxy-Authorization",
                                                         "TE",
                                                         "Trailer",
                                                         "Transfer-Encoding",
                                                         "Upgrade",
                                                         "Expect",
                                                         "Content-Length"};
constexpr std::size_t kTriedMax = 32;
/// So that a seed does not bring a body above what an engine takes.
constexpr std::size_t kReplayedBytesMax = 7u << 20;

std::optional<ResumableRequest> plan_for(const net::HttpRequest& request) {
  if (request.method != "POST" || request.headers.find("Content-Encoding")) return std::nullopt;
  return ResumableRequest::read(request.path(), request.body);
}

/// nullopt: no other server would answer the same.
std::optional<std::int64_t> replay_seed_for(const net::HttpRequest& request, TimePoint now) {
  const bool is_candidate = request.method == "POST" && replay_format_of(request.path()) &&
                            !request.headers.find("Content-Encoding") &&
                            request.body.size() <= kReplayedBytesMax;
  constexpr std::uint64_t kSeedMax = 0x7fffffff;
  const auto ticks = static_cast<std::uint64_t>(now.time_since_epoch().count());
  const auto seed = static_cast<std::int64_t>(random_bits(ticks, 0) & kSeedMax);
  return is_candidate && with_seed(request.body, seed) ? std::optional(seed) : std::nullopt;
}

}  // namespace

net::Headers end_to_end(net::Headers headers) {
  for (const std::string_view name : kHopFields) headers.remove(name);
  return headers;
}

ForwardExchange::ForwardExchange(net::HttpRequest from, net::ResponseWriter& to, TimePoint now)
    : request(std::move(from)), writer(to), plan(plan_for(request)), arrived(now), last_sign(now) {
  if (plan) {
    ledger.emplace(plan->wants_token_ids());
  } else {
    replay_seed = replay_seed_for(request, now);
  }
}

net::HttpRequest ForwardExchange::for_target(const ForwardTarget& target, TimePoint now) const {
  net::HttpRequest copy{request.method, request.target, request.headers, {}};
  for (const auto& [name, value] : target.headers.all()) copy.headers.set(name, value);
  if (plan) {
    copy.body = plan->body_for(
        request.body,
        {.token_ids = ledger->token_ids(), .seed = ledger->seed(), .elapsed = now - arrived});
  } else if (replay_seed) {
    copy.body = with_seed(request.body, *replay_seed).value_or(request.body);
  } else {
    copy.body = request.body;
  }
  return copy;
}

void ForwardExchange::end_try() {
  if (cancel) cancel->cancel();
}

void ForwardExchange::note_try(const ForwardTarget& target, TargetEnd end, TimePoint now) {
  if (tried.size() == kTriedMax) tried.erase(tried.begin());
  tried.push_back({.name = target.name, .end = end, .at = now});
}

}  // namespace kantha::noded
