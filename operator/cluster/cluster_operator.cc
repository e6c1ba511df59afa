#include "operator/cluster/cluster_operator.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/rng.h"
#include "operator/cluster/activator_feed.h"
#include "operator/cluster/guarded_client.h"
#include "operator/cluster/pass.h"
#include "operator/cluster/pod_samples.h"
#include "operator/cluster/reconcile.h"
#include "operator/cluster/rollout_board.h"
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
constexpr const char* kControllerName = "modelserving";

}  // namespace

struct ClusterOperator::Body {
  Body(boost::asio::any_io_executor executor, const Clock& clock, kube::Transport& transport,
       PodDoor& door, MetricRegistry& metrics, OperatorSettings given, std::uint64_t seed,
       ActivatorDoor* activator_door)
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
               [this](const kube::ObjectKey& key, Duration wait) {
                 if (wait > Duration::zero()) return controller.trigger_after(key, wait);
                 controller.trigger(key);
               }),
        guarded(clock, client, metrics, seams()),
        fleet(executor, clock, door, [this] { return guarded.may_write(); }),
        nodes(clock, guarded),
        samples(executor, clock, door, stores,
                {[this] { return settings.serves_metrics || guarded.may_write(); },
                 settings.serves_metrics}),
        rollouts(metrics),
        activators(activator_feed(executor, activator_door)),
        reconciler({clock, settings, guarded, door, events, breaker, stores, fleet, nodes, rollouts,
                    &samples.table(), activators.get()},
                   random_bits(seed, 2)),
        controller(
            executor, clock, metrics, controller_options(),
            [this](kube::ObjectKey key) { return reconciler.reconcile(std::move(key)); },
            [this] { return is_leading() && stores.ready_count() > 0; }),
        wake(executor),
        workers(executor, "workers"),
        askers(executor, "askers"),
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
    out.will_show = [this](std::string_view plural, const std::string& name_space,
                           const Json* answer) {
      const Scope* scope = stores.scope_of(name_space);
      return scope != nullptr && scope->will_show(plural, answer);
    };
    return out;
  }

  std::unique_ptr<ActivatorFeed> activator_feed(boost::asio::any_io_executor executor,
                                                ActivatorDoor* activator_door) {
    if (activator_door == nullptr) return nullptr;
    return std::make_unique<ActivatorFeed>(
        std::move(executor), clock, *activator_door, stores, guarded,
        [this](const kube::ObjectKey& key) { controller.trigger(key); });
  }

  runtime::ControllerOptions controller_options() const {
    runtime::ControllerOptions out;
    out.name = kControllerName;
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
    if (activators) workers.spawn(activators->run());
    askers.spawn(samples.run());
    while (!stopping) co_await wake.wait(kForEver);
    controller.stop();
    fleet.stop();
    if (activators) activators->stop();
    co_await workers.join();
    samples.stop();
    co_await askers.join();
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
  NodeMarks nodes;
  PodSamples samples;
  RolloutBoard rollouts;
  std::unique_ptr<ActivatorFeed> activators;  ///< null: none are to be had
  Reconciler reconciler;
  runtime::Controller controller;
  net::Notify wake;
  net::TaskGroup workers;
  net::TaskGroup askers;
  net::TaskGroup leases;
  net::TaskGroup recorders;
  net::TaskGroup watchers;
  bool stopping = false;
  bool led = false;
  bool lost = false;
};

ClusterOperator::ClusterOperator(boost::asio::any_io_executor executor, const Clock& clock,
                                 kube::Transport& transport, PodDoor& door, MetricRegistry& metrics,
                                 OperatorSettings settings, std::uint64_t seed,
                                 ActivatorDoor* activators)
    : body_(std::make_unique<Body>(std::move(executor), clock, transport, door, metrics,
                                   std::move(settings), seed, activators)) {}

ClusterOperator::~ClusterOperator() = default;

net::Task<void> ClusterOperator::run() { return body_->run(); }

void ClusterOperator::stop() { body_->stop(); }

bool ClusterOperator::lost_lease() const { return body_->lost; }

bool ClusterOperator::is_ready() const { return body_->stores.is_ready(); }

bool ClusterOperator::is_leading() const { return body_->is_leading(); }

std::int64_t ClusterOperator::write_count() const { return body_->guarded.write_count(); }

const metricsapi::MetricTable& ClusterOperator::samples() const { return body_->samples.table(); }

std::string ClusterOperator::rollout_series() const { return body_->rollouts.scrape(); }

DebugView ClusterOperator::debug_view() const {
  const TimePoint now = body_->clock.now();
  DebugView out{.identity = body_->settings.identity,
                .is_leading = body_->is_leading(),
                .is_ready = body_->stores.is_ready(),
                .writes = body_->guarded.write_count(),
                .events_queued = body_->events.queued_count(),
                .events_dropped = body_->events.dropped_count(),
                .fleet_receivers = body_->fleet.receiver_count(),
                .fleet_told = body_->fleet.told_count(),
                .fleet_failed = body_->fleet.failed_count(),
                .samples_of = body_->samples.table().size(),
                .samples_asked = body_->samples.asked_count(),
                .samples_failed = body_->samples.failed_count()};
  if (body_->lease) out.runtime.lease = runtime::view_of(*body_->lease);
  out.runtime.controllers.push_back(runtime::view_of(kControllerName, body_->controller, now));
  out.runtime.breaker = runtime::view_of(body_->breaker, now);
  add_scopes(out.runtime, body_->stores, now);
  return out;
}

}  // namespace kantha::cluster
