#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/net/http.h"
#include "noded/api/fleet_view.h"
#include "noded/fleet/peer_breaker.h"
#include "noded/fleet/peer_load.h"

/// What a pod knows of the others: who they are (told by the operator), how they are (said by
/// themselves), and how they answered. Plain data over `now`; one thread.
namespace kantha::noded {

struct BookPolicy {
  /// A view may be so far ahead of our clock; more is a clock that is wrong.
  Duration skew_max = std::chrono::seconds(5);
  /// A view that is older than this when it comes tells of another time.
  Duration view_late_max = std::chrono::minutes(1);
  /// After so long without a new one the view is forgotten. It may be long: a peer that is not who
  /// the view says is found out by its first answer.
  Duration view_age_max = std::chrono::minutes(15);
  /// What a peer says of itself is worth nothing after this.
  Duration load_age_max = std::chrono::seconds(5);
  BreakerPolicy breaker = {};
};

struct Peer {
  FleetPeer told;
  net::Endpoint endpoint;
  std::uint64_t name_bits = 0;
  PeerBreaker breaker = PeerBreaker();
  std::optional<PeerLoad> load = {};  ///< as it said last
  TimePoint load_at{};
  std::optional<TimePoint> ready_since = {};  ///< its first engine, as it said last
  std::int64_t mine = 0;                      ///< requests of ours that it works on
  std::int64_t mine_at_load = 0;              ///< of those, when it said its load
  bool asked = false;                         ///< a question for its load is under way

  /// Requests that it works on: as it said, and what we sent and got back since.
  std::int64_t running(TimePoint now, Duration load_age_max) const;
};

class PeerBook {
 public:
  /// `pod`: our own name, which is no peer; `model`: peers that serve another one are left out.
  PeerBook(std::string pod, std::string model, BookPolicy policy = {});

  /// kInvalidArgument: an endpoint that is none; kFailedPrecondition: from the future, too old, or
  /// not newer than the last one. Peers that stay keep what is known of them; the others go when
  /// the last request at them ended.
  Status take(const FleetView& view, WallTime wall_now, TimePoint now);

  /// Peers of a view that is still good.
  std::vector<Peer*> peers(TimePoint now);
  /// Also one that is no longer in the view, while requests are at it.
  Peer* find(const std::string& name);
  /// It says nothing against sending there: breaker closed, and no fresh word that it is not ready.
  bool is_usable(const Peer& peer, TimePoint now) const;

  void began(const std::string& name);
  void ended(const std::string& name);
  /// What an answer of that peer said. False: it is not who it should be (another pod, another
  /// model, nonsense or nothing at all), and its breaker is open now.
  bool note_load(const std::string& name, std::optional<std::string_view> text, TimePoint now);

  std::size_t size() const { return in_view_.size(); }
  /// Nothing: no view, or it is too old.
  std::optional<Duration> view_age(TimePoint now) const;
  std::int64_t observed_at_ms() const { return observed_at_ms_; }
  const BookPolicy& policy() const { return policy_; }

 private:
  bool is_current(TimePoint now) const;

  std::string pod_;
  std::string model_;
  BookPolicy policy_;
  std::map<std::string, Peer> known_;
  std::vector<std::string> in_view_;
  std::int64_t observed_at_ms_ = 0;
  std::optional<TimePoint> taken_at_;
};

}  // namespace kantha::noded
