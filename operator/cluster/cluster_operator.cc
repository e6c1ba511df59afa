#include "operator/cluster/cluster_operator.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/rng.h"
#include "operator/cluster/guarded_client.h"
#include "operator/cluster/pass.h"
#include "operator/cluster/reconcile.h"
#include "operator/cluster/world_stores.h"
#include "operator/kube/event_recorder.h"
#include "operator/kube/rate_limiter.h"
#include "operator/runtime/controller.h"
#include "operator/serving/children.h"

namespace kantha::cluster {
namespace {

constexpr Duration kLookForSync = std::chrono::milliseconds(250);
constexpr Duration kForEver = std::chrono::hours(24);
/// Events may be written at this part of the rate of all other calls, and beside them.
constexpr double kEventShare = 4;

Json failures_json(const runtime::Controller& controller) {
  Json out = Json::array();
  for (const auto& [key, error] : controller.failures()) {
    out.push_back({{"object", key.to_string()}, {"error", error}});
  }
  return out;
}

Json scope_json(const Scope& scope) {
  Json out;
  out["namespace"] = scope.name_space.empty() ? "(all)" : scope.name_space;
  out["modelservings"] = scope.servings.size();
  out["pods"] = scope.pods.size();
  out["undecodable"] = scope.servings.undecodable_count() + scope.pods.undecodable_count();
  out["writesNotSeenYet"] = scope.gate.pending_count();
  out["watchers"] = Json::array();
  for (const auto& watcher : scope.watchers) out["watchers"].push_back(watcher->description());
  return out;
}

}  // namespace

struct ClusterOperator::Body {
  Body(boost::asio::any_io_executor executor, const Clock& clock, kube::Transport& transport,
       PodDoor& door, MetricRegistry& metrics, OperatorSettings given, std::uint64_t seed)
      : clock(clock),
        transport(transport),
        settings(std::move(given)),
        limiter(clock, settings.calls_per_second, settings.calls_burst),
        client(transport, limiter, metrics),
        lease_limiter(clock, 0, 1),
        lease_client(transport, lease_limiter, metrics),
        event_limiter(clock, settings.calls_per_second / kEventShare,
                      std::max(1.0, settings.calls_burst / kEventShare)),
        event_client(transport, event_limiter, metrics),
        events(executor, clock, event_client, metrics, serving::kManagedBy, settings.identity),
        stores(executor, clock, random_bits(seed, 1), client, metrics, settings.namespaces,
               [this](const kube::ObjectKey& key) { controller.trigger(key); }),
        guarded(clock, client, metrics, seams()),
        fleet(executor, clock, door, [this] { return guarded.may_write(); }),
        reconciler({clock, settings, guarded, door, events, breaker, stores, fleet},
                   random_bits(seed, 2)),
        controller(
            executor, clock, metrics, controller_options(),
            [this](kube::ObjectKey key) { return reconciler.reconcile(std::move(key)); },
            [this] { return is_leading() && stores.ready_count() > 0; }),
        wake(executor),
        workers(executor, "workers"),
        leases(executor, "lease"),
        recorders(executor, "events"),
        watchers(executor, "watchers") {
    if (settings.leader_elect) {
      lease_client.set_call_timeout(settings.lease_times.renew_deadline * 2 / 5);
      lease = std::make_unique<runtime::LeaderLease>(
          executor, clock, lease_client,
          runtime::LeaseOptions{settings.lease, settings.identity, settings.lease_times,
                                random_bits(seed, 3)});
      lease->on_change([this](bool leading) { lease_changed(leading); });
    }
    metrics.gauge("kantha_operator_leading", "Whether this process may write", {},
                  [this] { return is_leading() ? 1.0 : 0.0; });
  }

  GuardedClient::Seams seams() {
    GuardedClient::Seams out;
    // A pass that is under way at the end stops at its next call; the successor goes on.
    out.is_leading = [this] { return !stopping && is_leading(); };
    out.gate = [this](const std::string& name_space) {
      Scope* scope = stores.scope_of(name_space);
      return scope == nullptr ? nullptr : &scope->gate;
    };
    out.held = [this](std::string_view plural,
                      const kube::ObjectKey& key) -> std::optional<HeldVersion> {
      const Scope* scope = stores.scope_of(key.name_space);
      return scope == nullptr ? std::nullopt : scope->held(plural, key);
    };
    out.is_watched = WorldStores::is_watched;
    return out;
  }

  runtime::ControllerOptions controller_options() const {
    runtime::ControllerOptions out;
    out.name = "modelserving";
    out.workers = settings.workers;
    return out;
  }

  bool is_leading() const { return !settings.leader_elect || (lease && lease->is_leading()); }

  void lease_changed(bool leading) {
    log_info(leading ? "this operator leads" : "this operator does not lead",
             {{"identity", settings.identity}});
    if (!leading && led && !stopping) {
      lost = true;
      stop();
      // Nothing is left to say to an API server that may not answer, and the Lease is not ours.
      transport.close();
    }
    led = led || leading;
    controller.gate_changed();
  }

  void stop() {
    stopping = true;
    wake.notify();
  }

  /// Nobody tells when a namespace's stores are whole, or when a kind turned out to be refused.
  net::Task<void> open_when_synced() {
    std::size_t ready = 0;
    while (!stopping && ready < stores.scopes().size()) {
      const std::size_t now_ready = stores.ready_count();
      if (now_ready > ready) {
        ready = now_ready;
        log_info("the cluster is in view", {{"namespaces", ready}, {"pods", stores.pod_count()}});
        controller.gate_changed();
      }
      if (ready < stores.scopes().size()) co_await wake.wait(kLookForSync);
    }
  }

  net::Task<void> run() {
    watchers.spawn(stores.run());
    recorders.spawn(events.run());
    if (lease) leases.spawn(lease->run());
    workers.spawn(controller.run());
    workers.spawn(open_when_synced());
    workers.spawn(fleet.run());
    while (!stopping) co_await wake.wait(kForEver);
    controller.stop();
    fleet.stop();
    co_await workers.join();
    // From here on nothing of ours writes: the lease may go.
    if (lease) lease->stop();
    co_await leases.join();
    events.stop();
    co_await recorders.join();
    stores.stop();
    co_await watchers.join();
  }

  const Clock& clock;
  kube::Transport& transport;
  OperatorSettings settings;
  kube::RateLimiter limiter;
  kube::ApiClient client;
  kube::RateLimiter lease_limiter;  ///< the lease waits for nobody
  kube::ApiClient lease_client;
  kube::RateLimiter event_limiter;  ///< nothing waits for news
  kube::ApiClient event_client;
  runtime::DeletionBreaker breaker;
  kube::EventRecorder events;
  std::unique_ptr<runtime::LeaderLease> lease;
  WorldStores stores;
  GuardedClient guarded;
  FleetFeed fleet;
  Reconciler reconciler;
  runtime::Controller controller;
  net::Notify wake;
  net::TaskGroup workers;
  net::TaskGroup leases;
  net::TaskGroup recorders;
  net::TaskGroup watchers;
  bool stopping = false;
  bool led = false;
  bool lost = false;
};

ClusterOperator::ClusterOperator(boost::asio::any_io_executor executor, const Clock& clock,
                                 kube::Transport& transport, PodDoor& door, MetricRegistry& metrics,
                                 OperatorSettings settings, std::uint64_t seed)
    : body_(std::make_unique<Body>(std::move(executor), clock, transport, door, metrics,
                                   std::move(settings), seed)) {}

ClusterOperator::~ClusterOperator() = default;

net::Task<void> ClusterOperator::run() { return body_->run(); }

void ClusterOperator::stop() { body_->stop(); }

bool ClusterOperator::lost_lease() const { return body_->lost; }

bool ClusterOperator::is_ready() const { return body_->stores.is_ready(); }

bool ClusterOperator::is_leading() const { return body_->is_leading(); }

std::int64_t ClusterOperator::write_count() const { return body_->guarded.write_count(); }

Json ClusterOperator::debug_state() const {
  const runtime::WorkQueue& queue = body_->controller.queue();
  Json out;
  out["identity"] = body_->settings.identity;
  out["leading"] = body_->is_leading();
  if (body_->lease) out["leaseHolder"] = body_->lease->holder();
  out["ready"] = body_->stores.is_ready();
  out["queue"] = {{"ready", queue.ready_count()},
                  {"delayed", queue.delayed_count()},
                  {"processing", queue.processing_count()}};
  out["failures"] = failures_json(body_->controller);
  out["writes"] = body_->guarded.write_count();
  out["eventsQueued"] = body_->events.queued_count();
  out["eventsDropped"] = body_->events.dropped_count();
  out["fleetViews"] = {{"receivers", body_->fleet.receiver_count()},
                       {"told", body_->fleet.told_count()},
                       {"failed", body_->fleet.failed_count()}};
  out["deletesInLastMinute"] = body_->breaker.recent_count(body_->clock.now());
  out["deletesHeldBack"] = body_->breaker.refused_count();
  out["scopes"] = Json::array();
  for (const auto& scope : body_->stores.scopes()) out["scopes"].push_back(scope_json(*scope));
  return out;
}

}  // namespace kantha::cluster
