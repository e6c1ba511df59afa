#include "noded/fleet/peer_book.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "noded/fleet/prompt_key.h"

namespace kantha::noded {
namespace {

/// A day: what a peer says must not be added to a clock unlooked at.
constexpr std::int64_t kReadyMsMax = 86'400'000;

std::int64_t unix_ms(WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

std::int64_t ms(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

Error not_now(std::string message) {
  return {Code::kFailedPrecondition, "observed_at_ms: " + std::move(message), "observed_at_ms"};
}

}  // namespace

std::int64_t Peer::running(TimePoint now, Duration load_age_max) const {
  if (!load || now - load_at > load_age_max) return mine;
  return std::max(mine, load->running + mine - mine_at_load);
}

PeerBook::PeerBook(std::string pod, std::string model, BookPolicy policy)
    : pod_(std::move(pod)), model_(std::move(model)), policy_(policy) {}

Status PeerBook::take(const FleetView& view, WallTime wall_now, TimePoint now) {
  const std::int64_t ahead = view.observed_at_ms - unix_ms(wall_now);
  if (ahead > ms(policy_.skew_max)) {
    return not_now("the view is from the future, by " + std::to_string(ahead) + " ms");
  }
  if (-ahead > ms(policy_.view_late_max)) {
    return not_now("the view is " + std::to_string(-ahead) + " ms old, at most " +
                   std::to_string(ms(policy_.view_late_max)));
  }
  if (view.observed_at_ms <= observed_at_ms_) return not_now("a newer view is there already");
  std::map<std::string, Peer> next;
  std::vector<std::string> in_view;
  for (const FleetPeer& told : view.peers) {
    if (told.name == pod_ || told.model != model_) continue;
    Result<net::Endpoint> endpoint = net::parse_endpoint(told.endpoint);
    if (!endpoint.ok()) return std::move(endpoint).error().with_context(told.name);
    const auto before = known_.find(told.name);
    const bool stays = before != known_.end() && before->second.told.endpoint == told.endpoint;
    Peer peer = stays ? before->second
                      : Peer{.told = {},
                             .endpoint = *std::move(endpoint),
                             .name_bits = text_bits(told.name),
                             .breaker = PeerBreaker(policy_.breaker)};
    peer.told = told;
    in_view.push_back(told.name);
    next.emplace(told.name, std::move(peer));
  }
  for (auto& [name, peer] : known_) {
    if (peer.mine > 0) next.emplace(name, std::move(peer));
  }
  known_ = std::move(next);
  in_view_ = std::move(in_view);
  observed_at_ms_ = view.observed_at_ms;
  taken_at_ = now;
  return ok_status();
}

bool PeerBook::is_current(TimePoint now) const {
  return taken_at_ && now - *taken_at_ <= policy_.view_age_max;
}

std::optional<Duration> PeerBook::view_age(TimePoint now) const {
  return is_current(now) ? std::optional<Duration>(now - *taken_at_) : std::nullopt;
}

std::vector<Peer*> PeerBook::peers(TimePoint now) {
  std::vector<Peer*> out;
  if (!is_current(now)) return out;
  for (const std::string& name : in_view_) out.push_back(&known_.at(name));
  return out;
}

Peer* PeerBook::find(const std::string& name) {
  const auto found = known_.find(name);
  return found == known_.end() ? nullptr : &found->second;
}

bool PeerBook::is_usable(const Peer& peer, TimePoint now) const {
  if (!peer.breaker.is_closed()) return false;
  const bool fresh = peer.load && now - peer.load_at <= policy_.load_age_max;
  return !fresh || peer.load->phase == EnginePhase::kReady;
}

void PeerBook::began(const std::string& name) {
  if (Peer* peer = find(name)) peer->mine += 1;
}

void PeerBook::ended(const std::string& name) {
  Peer* peer = find(name);
  if (peer == nullptr) return;
  peer->mine = std::max<std::int64_t>(0, peer->mine - 1);
  const bool in_view = std::find(in_view_.begin(), in_view_.end(), name) != in_view_.end();
  if (peer->mine == 0 && !in_view) known_.erase(name);
}

bool PeerBook::note_load(const std::string& name, std::optional<std::string_view> text,
                         TimePoint now) {
  Peer* peer = find(name);
  if (peer == nullptr) return true;  // gone meanwhile; its answer is as good as it was
  Result<PeerLoad> load = load_from_text(text.value_or(""));
  std::string wrong;
  if (!text) {
    wrong = "it says nothing of itself";
  } else if (!load.ok()) {
    wrong = load.error().message;
  } else if (load->pod != name) {
    wrong = "it is \"" + load->pod + "\"";
  } else if (load->model != model_) {
    wrong = "it serves \"" + load->model + "\"";
  }
  if (!wrong.empty()) {
    log_warn("a peer is not who it should be", {{"peer", name}, {"why", wrong.substr(0, 200)}});
    peer->breaker.trip(now);
    return false;
  }
  peer->load = std::move(load).value();
  peer->load_at = now;
  if (peer->load->ready_ms) {
    const std::int64_t for_ms = std::min(*peer->load->ready_ms, kReadyMsMax);
    peer->ready_since = now - std::chrono::milliseconds(for_ms);
  }
  peer->mine_at_load = peer->mine;
  peer->breaker.succeeded();
  return true;
}

}  // namespace kantha::noded
