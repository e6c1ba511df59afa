#include "operator/kube/event_recorder.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/rng.h"

namespace kantha::kube {
namespace {

/// A burst of news about every object of a large cluster; an entry is some hundred bytes.
constexpr std::size_t kQueuedMax = 1000;
constexpr int kWriters = 4;
constexpr int kTriesMax = 3;
constexpr Duration kTryAgain = std::chrono::seconds(1);
constexpr Duration kFlushTime = std::chrono::seconds(5);
/// Only a heartbeat: record() and stop() wake the writer.
constexpr Duration kIdleWait = std::chrono::seconds(60);

bool is_worth_a_retry(const Error& error) {
  switch (fault_of(error)) {
    case ApiFault::kThrottled:
    case ApiFault::kServer:
    case ApiFault::kUnreachable:
    case ApiFault::kTimeout: return true;
    default: return false;
  }
}

}  // namespace

struct EventRecorder::Body {
  Body(boost::asio::any_io_executor executor, const Clock& with, ApiClient& through,
       MetricRegistry& metrics, std::string component_name, std::string instance_name)
      : clock(with),
        client(through),
        component(std::move(component_name)),
        instance(std::move(instance_name)),
        changed(std::move(executor)),
        dropped(metrics.counter("kantha_operator_events_dropped_total",
                                "Events that were lost to a full queue, or that no server took.",
                                {})),
        ledger(static_cast<std::uint64_t>(with.wall_now().time_since_epoch().count()) ^
               std::hash<std::string>{}(instance)) {}

  static net::Task<void> run(std::shared_ptr<Body> self);
  static net::Task<void> write_queued(std::shared_ptr<Body> self);
  static net::Task<void> write(std::shared_ptr<Body> self, std::uint64_t id);
  /// One try: PATCH of an object that should be there, else POST.
  static net::Task<Status> put(std::shared_ptr<Body> self, EventEntry entry);
  void drop(std::size_t count);
  /// The next entry that no other writer has in hand.
  std::optional<std::uint64_t> take();
  bool is_time_up() const { return is_stopped && clock.now() >= stop_deadline; }

  const Clock& clock;
  ApiClient& client;
  std::string component;
  std::string instance;
  net::Notify changed;
  Counter& dropped;
  EventLedger ledger;
  std::deque<std::uint64_t> queue = {};
  std::set<std::uint64_t> in_hand = {};  ///< entries that are being written
  std::size_t dropped_here = 0;          ///< by this recorder; the counter may be older
  std::string last_failure = {};         ///< as it was logged last
  bool is_stopped = false;
  TimePoint stop_deadline{};
};

void EventRecorder::Body::drop(std::size_t count) {
  dropped_here += count;
  dropped.add(static_cast<double>(count));
}

std::optional<std::uint64_t> EventRecorder::Body::take() {
  const auto next =
      std::ranges::find_if(queue, [this](std::uint64_t id) { return !in_hand.contains(id); });
  if (next == queue.end()) return std::nullopt;
  const std::uint64_t id = *next;
  queue.erase(next);
  in_hand.insert(id);
  return id;
}

net::Task<void> EventRecorder::Body::write_queued(std::shared_ptr<Body> self) {
  while (!self->is_time_up()) {
    const std::optional<std::uint64_t> id = self->take();
    if (id) {
      co_await write(self, *id);
      self->in_hand.erase(*id);
      continue;
    }
    // What is left is news of entries in other hands, and they look again.
    if (self->is_stopped) co_return;
    co_await self->changed.wait(kIdleWait);
  }
}

net::Task<void> EventRecorder::Body::run(std::shared_ptr<Body> self) {
  const auto executor = co_await boost::asio::this_coro::executor;
  net::TaskGroup writers(executor, "event writers");
  for (int i = 0; i < kWriters; ++i) writers.spawn(write_queued(self));
  co_await writers.join();
  self->drop(self->queue.size());
  self->queue.clear();
}

net::Task<void> EventRecorder::Body::write(std::shared_ptr<Body> self, std::uint64_t id) {
  const std::optional<EventEntry> entry = self->ledger.begin_write(id);
  if (!entry) co_return;
  Status put_status = ok_status();
  for (int tries = 0;; ++tries) {
    put_status = co_await put(self, *entry);
    if (put_status || !is_worth_a_retry(put_status.error())) break;
    if (tries + 1 == kTriesMax || self->is_time_up()) break;
    const Duration told = std::chrono::milliseconds(put_status.error().retry_after_ms);
    co_await net::sleep_for(std::max(kTryAgain * (1 << tries), std::min(told, kFlushTime)));
  }
  self->ledger.end_write(id, put_status.ok());
  if (put_status) co_return;
  self->drop(1);
  // A right that is missing is said once, not for each event.
  const bool is_news = self->last_failure != put_status.error().message;
  self->last_failure = put_status.error().message;
  const auto log = is_news ? log_warn : log_debug;
  log("event was not written", {{"object", entry->subject.key.to_string()},
                                {"reason", entry->reason},
                                {"error", put_status.error().to_string()}});
}

net::Task<Status> EventRecorder::Body::put(std::shared_ptr<Body> self, EventEntry entry) {
  if (entry.is_stored) {
    const ObjectKey key = {event_namespace(entry), entry.name};
    const Result<Json> patched =
        co_await self->client.patch(kEvents, key, dump_json(event_patch(entry)),
                                    {.kind = PatchKind::kMerge, .answer = Content::kMetadata});
    if (patched) co_return ok_status();
    // Event objects live for an hour.
    if (fault_of(patched.error()) != ApiFault::kNotFound) co_return patched.error();
  }
  const Result<Json> created = co_await self->client.create(
      kEvents, event_namespace(entry),
      dump_json(event_object(entry, self->component, self->instance)), Content::kMetadata);
  // A try before this one was taken although it seemed to fail.
  if (created || fault_of(created.error()) == ApiFault::kAlreadyExists) co_return ok_status();
  co_return created.error();
}

EventRecorder::EventRecorder(boost::asio::any_io_executor executor, const Clock& clock,
                             ApiClient& client, MetricRegistry& metrics, std::string component,
                             std::string instance)
    : body_(std::make_shared<Body>(std::move(executor), clock, client, metrics,
                                   std::move(component), std::move(instance))) {
  metrics.gauge("kantha_operator_events_queued", "Events that wait to be written.", {},
                [weak = std::weak_ptr<Body>(body_)] {
                  const auto body = weak.lock();
                  return body == nullptr ? 0.0 : static_cast<double>(body->queue.size());
                });
}

EventRecorder::~EventRecorder() { stop(); }

void EventRecorder::record(EventSubject subject, EventKind kind, std::string reason,
                           std::string message) {
  if (body_->is_stopped || body_->queue.size() >= kQueuedMax) {
    body_->drop(1);
    return;
  }
  const EventLedger::Noted noted = body_->ledger.note(subject, kind, reason, std::move(message),
                                                      body_->clock.now(), body_->clock.wall_now());
  if (noted.verdict != EventVerdict::kWrite) return;
  body_->queue.push_back(noted.id);
  body_->changed.notify();
}

net::Task<void> EventRecorder::run() { return Body::run(body_); }

void EventRecorder::stop() {
  if (std::exchange(body_->is_stopped, true)) return;
  body_->stop_deadline = body_->clock.now() + kFlushTime;
  body_->changed.notify();
}

std::size_t EventRecorder::dropped_count() const { return body_->dropped_here; }

std::size_t EventRecorder::queued_count() const { return body_->queue.size(); }

}  // namespace kantha::kube
