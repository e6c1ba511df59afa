#include "noded/fleet/fleet_router.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/rng.h"

namespace kantha::noded {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(250);
constexpr Duration kForEver = std::chrono::hours(24);
constexpr std::size_t kLoadBytesMax = 4096;
constexpr JsonLimits kViewLimits = {.depth_max = 8, .nodes_max = 20'000, .bytes_max = 1u << 20};

/// An answer ended badly by the peer's doing.
bool is_failure(TargetEnd end) {
  return end == TargetEnd::kUnreachable || end == TargetEnd::kCut || end == TargetEnd::kSilent;
}

}  // namespace

/// The pods that a request may go to now; `peers[i]` is nullptr for this one.
struct FleetRouter::Options {
  std::vector<RouteCandidate> candidates;
  std::vector<const Peer*> peers;
};

FleetRouter::FleetRouter(boost::asio::any_io_executor executor, EngineGate& gate,
                         net::HttpClient& client, const HopSeal& seal, FleetSettings settings,
                         const Clock& clock)
    : local_(gate),
      gate_(gate),
      client_(client),
      seal_(seal),
      settings_(std::move(settings)),
      clock_(clock),
      book_(settings_.pod, settings_.model, settings_.book),
      own_load_([] { return PeerLoad(); }),
      on_lost_([](const std::string&) {}),
      asks_(executor, "fleet"),
      wake_(executor),
      seed_(entropy_seed()) {}

Status FleetRouter::take_view(std::string_view text) {
  const auto taken = [&]() -> Status {
    TRY(const Json json, parse_json(text, kViewLimits));
    TRY(const FleetView view, fleet_view_from_json(json));
    return book_.take(view, clock_.wall_now(), clock_.now());
  }();
  (taken.ok() ? counts_.views_taken : counts_.views_refused) += 1;
  if (taken.ok()) log_info("the fleet is known", {{"peers", book_.size()}});
  return taken;
}

PeerLoad FleetRouter::own_load() const {
  PeerLoad load = own_load_();
  load.pod = settings_.pod;
  load.model = settings_.model;
  load.running = local_running_;
  return load;
}

std::optional<std::uint64_t> FleetRouter::key_of(const TargetAsk& ask) const {
  constexpr std::uint64_t kNone = 0;
  if (!ask.memo) {
    const std::string_view tenant = ask.request.headers.find("x-kantha-tenant").value_or("");
    ask.memo =
        prompt_key(ask.request.path(), ask.request.body, tenant, settings_.key).value_or(kNone);
  }
  return *ask.memo == kNone ? std::nullopt : ask.memo;
}

FleetRouter::Options FleetRouter::options_for(const TargetAsk& ask) {
  const TimePoint now = clock_.now();
  const auto tried_lately = [&](std::string_view name) {
    return std::any_of(ask.tried.begin(), ask.tried.end(), [&](const TriedTarget& tried) {
      return tried.name == name && now - tried.at < settings_.try_again_after;
    });
  };
  Options out;
  for (const Peer* peer : book_.peers(now)) {
    if (!book_.is_usable(*peer, now) || tried_lately(peer->told.name)) continue;
    const Duration fresh_for = settings_.book.load_age_max;
    RouteCandidate candidate{peer->name_bits, false, peer->running(now, fresh_for), std::nullopt};
    if (peer->load && now - peer->load_at <= fresh_for)
      candidate.pressure = peer->load->kv_pressure;
    if (peer->ready_since) candidate.ready_for = now - *peer->ready_since;
    out.candidates.push_back(candidate);
    out.peers.push_back(peer);
  }
  const bool local = gate_.phase() == EnginePhase::kReady && ask.local_allowed;
  // An engine that just failed under this request, or is about to go, comes last.
  const bool last = ask.local_last || tried_lately(kLocalTargetName);
  if (local && (out.candidates.empty() || !last)) {
    const PeerLoad own = own_load_();
    RouteCandidate candidate{text_bits(settings_.pod), true, local_running_, own.kv_pressure};
    if (own.ready_ms) candidate.ready_for = std::chrono::milliseconds(*own.ready_ms);
    out.candidates.push_back(candidate);
    out.peers.push_back(nullptr);
  }
  return out;
}

TargetChoice FleetRouter::choose(const TargetAsk& ask) {
  const bool came_from_peer = ask.request.headers.find(kHopHeader).has_value();
  if (came_from_peer) {
    // Its sender knows others and does not wait here.
    TargetChoice choice = local_.choose(ask);
    choice.hopeless = choice.hopeless || !choice.target;
    return choice;
  }
  routed_at_ = clock_.now();
  if (idle_ && book_.size() > 0) wake_.notify();
  const Options options = options_for(ask);
  const auto chosen =
      choose_route(options.candidates, key_of(ask), random_bits(seed_, draws_++), settings_.route);
  if (!chosen || options.peers[*chosen] == nullptr) {
    TargetChoice choice = local_.choose(ask);
    // A peer may be back before this pod's engine is.
    if (book_.size() > 0) choice.hopeless = false;
    return choice;
  }
  TargetChoice choice;
  choice.target = target_at(*options.peers[*chosen], ask.request);
  return choice;
}

ForwardTarget FleetRouter::target_at(const Peer& peer, const net::HttpRequest& request) const {
  ForwardTarget target;
  target.name = peer.told.name;
  target.endpoint = peer.endpoint;
  target.is_local = false;
  target.headers.set(kHopHeader, seal_.seal(peer.told.name, request.method, request.target));
  return target;
}

bool FleetRouter::knows_others() {
  const TimePoint now = clock_.now();
  const std::vector<Peer*> peers = book_.peers(now);
  return std::any_of(peers.begin(), peers.end(),
                     [&](const Peer* peer) { return book_.is_usable(*peer, now); });
}

net::Task<void> FleetRouter::wait_for_change(Duration timeout) {
  return local_.wait_for_change(timeout);
}

void FleetRouter::began(const ForwardTarget& target) {
  if (target.is_local) {
    local_running_ += 1;
    return local_.began(target);
  }
  counts_.forwarded += 1;
  book_.began(target.name);
}

bool FleetRouter::answered(const ForwardTarget& target, int status, const net::Headers& headers) {
  if (target.is_local) return local_.answered(target, status, headers);
  if (!book_.note_load(target.name, headers.find(kLoadHeader), clock_.now())) {
    counts_.disbelieved += 1;
    return false;
  }
  if (!headers.find(kRefusedHeader)) return true;
  counts_.refused += 1;
  return false;
}

void FleetRouter::ended(const ForwardTarget& target, TargetEnd end) {
  if (target.is_local) {
    local_running_ -= 1;
    return local_.ended(target, end);
  }
  book_.ended(target.name);
  if (!is_failure(end)) return;
  counts_.failed += 1;
  note_failure(target.name);
}

EngineEnds FleetRouter::ends(const ForwardTarget& target) const {
  return target.is_local ? local_.ends(target) : EngineEnds();
}

void FleetRouter::note_failure(const std::string& name) {
  Peer* peer = book_.find(name);
  if (peer == nullptr || !peer->breaker.failed(clock_.now())) return;
  counts_.opened += 1;
  log_warn("a peer is given up for now", {{"peer", name}, {"requests", peer->mine}});
  on_lost_(name);
}

bool FleetRouter::is_busy(TimePoint now) {
  if (now - routed_at_ < settings_.ask_after_request) return true;
  const std::vector<Peer*> peers = book_.peers(now);
  return std::any_of(peers.begin(), peers.end(), [](const Peer* peer) { return peer->mine > 0; });
}

std::vector<std::string> FleetRouter::due(TimePoint now) {
  std::vector<std::string> out;
  std::size_t room = settings_.asks_max - std::min(settings_.asks_max, asks_.running());
  for (const Peer* peer : book_.peers(now)) {
    if (out.size() == room) break;
    const bool old = !peer->load || now - peer->load_at >= settings_.ask_every;
    if (peer->asked || !old || !peer->breaker.may_ask(now)) continue;
    out.push_back(peer->told.name);
  }
  return out;
}

net::Task<void> FleetRouter::ask(std::string name) {
  Peer* peer = book_.find(name);
  if (peer == nullptr) co_return;
  peer->asked = true;
  net::HttpRequest request;
  request.target = kLoadPath;
  request.headers.set(kHopHeader, seal_.seal(name, request.method, request.target));
  counts_.asked += 1;
  const Result<net::HttpResponse> answer = co_await client_.call(
      peer->endpoint, std::move(request), settings_.ask_timeout, kLoadBytesMax);
  peer = book_.find(name);  // a view may have come meanwhile
  if (peer == nullptr) co_return;
  peer->asked = false;
  if (!answer.ok()) {
    note_failure(name);
  } else if (!book_.note_load(name, answer->headers.find(kLoadHeader), clock_.now())) {
    counts_.disbelieved += 1;
  }
}

net::Task<void> FleetRouter::run() {
  while (!stopping_) {
    const TimePoint now = clock_.now();
    idle_ = !is_busy(now);
    if (!idle_) {
      for (std::string& name : due(now)) asks_.spawn(ask(std::move(name)));
    }
    co_await wake_.wait(idle_ ? kForEver : kTick);
  }
  co_await asks_.join();
}

void FleetRouter::stop() {
  stopping_ = true;
  wake_.notify();
}

}  // namespace kantha::noded
