#include "operator/runtime/controller.h"

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "operator/runtime/controller_probe.h"

namespace kantha::runtime {
namespace {

/// Workers look up at least this often, should a wake-up have been missed.
constexpr Duration kHeartbeat = std::chrono::seconds(10);

}  // namespace

/// What the workers share; each keeps it alive.
struct Controller::Body {
  Body(boost::asio::any_io_executor executor, const Clock& clock, MetricRegistry& metrics,
       ControllerOptions options, Reconcile reconcile, Gate gate)
      : clock(clock),
        options(std::move(options)),
        reconcile(std::move(reconcile)),
        gate(std::move(gate)),
        queue(this->options.retry),
        probe(metrics, this->options.name),
        wake(executor),
        idle(std::move(executor)) {}

  void settle(const kube::ObjectKey& key, const Result<Requeue>& result, TimePoint begun);
  ReconcileResult settle_success(const kube::ObjectKey& key, const Requeue& requeue);
  ReconcileResult settle_failure(const kube::ObjectKey& key, const Error& error);
  Duration idle_time() const;

  static net::Task<void> work(std::shared_ptr<Body> self);
  static net::Task<void> run(std::shared_ptr<Body> self, net::TaskGroup* workers);
  static net::Task<Result<Requeue>> guarded(std::shared_ptr<Body> self, kube::ObjectKey key);

  const Clock& clock;
  ControllerOptions options;
  Reconcile reconcile;
  Gate gate;
  WorkQueue queue;
  ControllerProbe probe;
  net::Notify wake;  ///< something to look at for workers
  net::Notify idle;  ///< a worker ended, or stop() was called
  ControllerCounts counts;
  std::map<kube::ObjectKey, std::string> failures;
  std::map<kube::ObjectKey, TimePoint> in_work;
  int workers_running = 0;
  bool is_stopping = false;
};

net::Task<Result<Requeue>> Controller::Body::guarded(std::shared_ptr<Body> self,
                                                     kube::ObjectKey key) {
  std::string what;
  try {
    net::Task<Result<Requeue>> task = self->reconcile(key);
    co_return co_await std::move(task);
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
    what = "not a std::exception";
  }
  ++self->counts.exceptions;
  co_return internal_error("exception in reconcile: " + what);
}

net::Task<void> Controller::Body::work(std::shared_ptr<Body> self) {
  while (!self->is_stopping) {
    std::optional<kube::ObjectKey> key;
    if (self->gate()) key = self->queue.take(self->clock.now());
    if (!key) {
      const Duration pause = self->idle_time();
      co_await self->wake.wait(pause);
      continue;
    }
    self->probe.waited(self->queue.last_wait());
    const TimePoint begun = self->clock.now();
    self->in_work.emplace(*key, begun);
    const Result<Requeue> result = co_await guarded(self, *key);
    self->settle(*key, result, begun);
  }
  --self->workers_running;
  self->idle.notify();
}

Duration Controller::Body::idle_time() const {
  if (!gate()) return kHeartbeat;
  const TimePoint now = clock.now();
  const std::optional<TimePoint> next = queue.next_time(now);
  if (!next) return kHeartbeat;
  // A millisecond at least: a timer may fire a little before its time.
  return std::clamp<Duration>(*next - now, std::chrono::milliseconds(1), kHeartbeat);
}

void Controller::Body::settle(const kube::ObjectKey& key, const Result<Requeue>& result,
                              TimePoint begun) {
  const Duration took = clock.now() - begun;
  in_work.erase(key);
  ++counts.done;
  if (took > options.reconcile_timeout) {
    ++counts.overdue;
    probe.overdue();
    log_warn("reconcile took too long", {{"controller", options.name},
                                         {"object", key.to_string()},
                                         {"took_s", std::chrono::duration<double>(took).count()}});
  }
  probe.reconciled(result.ok() ? settle_success(key, *result) : settle_failure(key, result.error()),
                   took);
  queue.done(key, clock.now());
  if (queue.ready_count() > 0) wake.notify();
}

ReconcileResult Controller::Body::settle_success(const kube::ObjectKey& key,
                                                 const Requeue& requeue) {
  queue.forget(key);
  if (failures.erase(key) > 0) {
    log_info("reconcile works again", {{"controller", options.name}, {"object", key.to_string()}});
  }
  if (!requeue.after) return ReconcileResult::kDone;
  queue.add_after(key, *requeue.after, clock.now());
  return ReconcileResult::kRequeued;
}

ReconcileResult Controller::Body::settle_failure(const kube::ObjectKey& key, const Error& error) {
  ++counts.failed;
  const bool is_terminal = error.reason == kTerminal;
  std::string message = error.to_string();
  std::string& known = failures[key];
  if (known != message) {
    log_error("reconcile failed", {{"controller", options.name},
                                   {"object", key.to_string()},
                                   {"retried", !is_terminal},
                                   {"error", message}});
    known = std::move(message);
  }
  if (is_terminal) {
    queue.forget(key);
    return ReconcileResult::kTerminal;
  }
  queue.add_failed(key, clock.now(), std::chrono::milliseconds(error.retry_after_ms));
  return ReconcileResult::kFailed;
}

net::Task<void> Controller::Body::run(std::shared_ptr<Body> self, net::TaskGroup* workers) {
  self->workers_running = self->options.workers;
  for (int i = 0; i < self->options.workers; ++i) workers->spawn(work(self));
  while (!self->is_stopping) co_await self->idle.wait(std::chrono::hours(1));
  const TimePoint deadline = self->clock.now() + self->options.drain_timeout;
  while (self->workers_running > 0 && self->clock.now() < deadline) {
    const Duration left = deadline - self->clock.now();
    co_await self->idle.wait(left);
  }
  if (self->workers_running == 0) {
    co_await workers->join();
    co_return;
  }
  for (const auto& [key, since] : self->in_work) {
    log_error("reconcile hangs at stop",
              {{"controller", self->options.name}, {"object", key.to_string()}});
  }
}

Controller::Controller(boost::asio::any_io_executor executor, const Clock& clock,
                       MetricRegistry& metrics, ControllerOptions options, Reconcile reconcile,
                       Gate gate)
    : body_(std::make_shared<Body>(executor, clock, metrics, std::move(options),
                                   std::move(reconcile), std::move(gate))),
      workers_(std::make_unique<net::TaskGroup>(executor, body_->options.name)) {
  CHECK(body_->options.workers > 0);
  const auto gauge = [&](const char* state, auto count) {
    metrics.gauge("kantha_operator_queue_keys", "Keys of the work queue, by what they wait for.",
                  {{"controller", body_->options.name}, {"state", state}},
                  [weak = std::weak_ptr<Body>(body_), count] {
                    const auto body = weak.lock();
                    return body == nullptr ? 0.0 : static_cast<double>(count(body->queue));
                  });
  };
  gauge("ready", [](const WorkQueue& queue) { return queue.ready_count(); });
  gauge("delayed", [](const WorkQueue& queue) { return queue.delayed_count(); });
  gauge("in_work", [](const WorkQueue& queue) { return queue.processing_count(); });
}

Controller::~Controller() {
  stop();
  if (workers_->running() == 0) return;
  // A coroutine that hangs can't be ended, and an owner must not go before what it owns.
  log_error("controller left behind with its workers", {{"controller", body_->options.name}});
  static_cast<void>(workers_.release());
}

void Controller::trigger(const kube::ObjectKey& key) {
  body_->queue.add(key, body_->clock.now());
  body_->wake.notify();
}

void Controller::trigger_after(const kube::ObjectKey& key, Duration delay) {
  body_->queue.add_after(key, delay, body_->clock.now());
  body_->wake.notify();
}

void Controller::gate_changed() { body_->wake.notify(); }

net::Task<void> Controller::run() { return Body::run(body_, workers_.get()); }

void Controller::stop() {
  body_->is_stopping = true;
  body_->wake.notify();
  body_->idle.notify();
}

const WorkQueue& Controller::queue() const { return body_->queue; }

std::vector<std::pair<kube::ObjectKey, std::string>> Controller::failures() const {
  return {body_->failures.begin(), body_->failures.end()};
}

std::vector<std::pair<kube::ObjectKey, Duration>> Controller::in_work() const {
  std::vector<std::pair<kube::ObjectKey, Duration>> out;
  for (const auto& [key, since] : body_->in_work) {
    out.emplace_back(key, body_->clock.now() - since);
  }
  return out;
}

const ControllerCounts& Controller::counts() const { return body_->counts; }

}  // namespace kantha::runtime
