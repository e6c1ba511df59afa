#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/net/http_client.h"
#include "base/net/task_group.h"
#include "noded/engine/engine_gate.h"
#include "noded/fleet/hop_seal.h"
#include "noded/fleet/peer_book.h"
#include "noded/fleet/prompt_key.h"
#include "noded/fleet/route_choice.h"
#include "noded/gateway/forward_target.h"

/// Chooses for each request: this pod's engine, or another pod's door.
///
/// Without a view of the fleet it is this pod's engine, as if there were no others. With one: by
/// the prompt's leading bytes and the pods' loads (route_choice.h); never a pod that says it is not
/// ready; never twice in a row the one that just failed. What came from another pod stays here. The
/// others are asked for their loads once a second, and only while requests go there: an idle pod
/// sends nothing. One executor.
namespace kantha::noded {

struct FleetSettings {
  std::string pod;
  std::string model;
  RoutePolicy route = {};
  PromptKeyPolicy key = {};
  BookPolicy book = {};
  Duration ask_every = std::chrono::seconds(1);
  Duration ask_timeout = std::chrono::seconds(1);
  std::size_t asks_max = 16;  ///< questions under way at one time
  /// Nobody is asked when no request went to a peer, nor came in, for so long.
  Duration ask_after_request = std::chrono::seconds(5);
  /// A server that a request has just tried is not its next one, if there are others.
  Duration try_again_after = std::chrono::seconds(2);
};

/// What happened so far; for metrics.
struct FleetCounts {
  std::int64_t forwarded = 0;    ///< requests sent to a peer
  std::int64_t refused = 0;      ///< that it took nothing on
  std::int64_t failed = 0;       ///< that it did not answer, or not to the end
  std::int64_t disbelieved = 0;  ///< answers of somebody who is not who the view says
  std::int64_t opened = 0;       ///< breakers
  std::int64_t asked = 0;        ///< questions for a load
  std::int64_t views_taken = 0;
  std::int64_t views_refused = 0;
};

class FleetRouter final : public TargetChooser {
 public:
  /// What this pod says of itself: phase, KV pressure and its age. The router adds the rest.
  using OwnLoad = std::function<PeerLoad()>;
  /// Called when a peer is given up, so that requests that wait there can go elsewhere.
  using OnLost = std::function<void(const std::string& name)>;

  FleetRouter(boost::asio::any_io_executor executor, EngineGate& gate, net::HttpClient& client,
              const HopSeal& seal, FleetSettings settings, const Clock& clock);

  void set_own_load(OwnLoad own_load) { own_load_ = std::move(own_load); }
  void on_lost(OnLost callback) { on_lost_ = std::move(callback); }

  /// Body of PUT /admin/v1/fleet. kInvalidArgument: it is no view; kFailedPrecondition: it is of
  /// another time.
  Status take_view(std::string_view text);

  TargetChoice choose(const TargetAsk& ask) override;
  bool knows_others() override;
  net::Task<void> wait_for_change(Duration timeout) override;
  void began(const ForwardTarget& target) override;
  bool answered(const ForwardTarget& target, int status, const net::Headers& headers) override;
  void ended(const ForwardTarget& target, TargetEnd end) override;
  EngineEnds ends(const ForwardTarget& target) const override;

  /// Asks the peers until stop().
  net::Task<void> run();
  void stop();

  /// This pod, as others should see it.
  PeerLoad own_load() const;
  const FleetCounts& counts() const { return counts_; }
  std::size_t peer_count() const { return book_.size(); }
  std::optional<Duration> view_age() const { return book_.view_age(clock_.now()); }

 private:
  struct Options;

  Options options_for(const TargetAsk& ask);
  std::optional<std::uint64_t> key_of(const TargetAsk& ask) const;
  ForwardTarget target_at(const Peer& peer, const net::HttpRequest& request) const;
  bool is_busy(TimePoint now);
  std::vector<std::string> due(TimePoint now);
  net::Task<void> ask(std::string name);
  void note_failure(const std::string& name);

  LocalTarget local_;
  EngineGate& gate_;
  net::HttpClient& client_;
  const HopSeal& seal_;
  FleetSettings settings_;
  const Clock& clock_;
  PeerBook book_;
  OwnLoad own_load_;
  OnLost on_lost_;
  FleetCounts counts_;
  net::TaskGroup asks_;
  net::Notify wake_;
  std::int64_t local_running_ = 0;
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  TimePoint routed_at_{};
  bool idle_ = false;
  bool stopping_ = false;
};

/// Answered to peers only: 204 with x-kantha-load.
inline constexpr std::string_view kLoadPath = "/kantha/v1/load";
/// In an answer: the pod took nothing on, and why.
inline constexpr std::string_view kRefusedHeader = "x-kantha-refused";

}  // namespace kantha::noded
