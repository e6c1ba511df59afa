#include "operator/kube/event_recorder.h"

#include <deque>
#include <utility>

#include "base/log.h"
#include "base/rng.h"

namespace kantha::kube {
namespace {

constexpr std::size_t kQueuedMax = 1000;
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
       std::string component_name, std::string instance_name)
      : clock(with),
        client(through),
        component(std::move(component_name)),
        instance(std::move(instance_name)),
        changed(std::move(executor)),
        ledger(static_cast<std::uint64_t>(with.wall_now().time_since_epoch().count()) ^
               std::hash<std::string>{}(instance)) {}

  static net::Task<void> run(std::shared_ptr<Body> self);
  static net::Task<void> write(std::shared_ptr<Body> self, std::uint64_t id);
  /// One try: PATCH of an object that should be there, else POST.
  static net::Task<Status> put(std::shared_ptr<Body> self, EventEntry entry);
  bool is_time_up() const { return is_stopped && clock.now() >= stop_deadline; }

  const Clock& clock;
  ApiClient& client;
  std::string component;
  std::string instance;
  net::Notify changed;
  EventLedger ledger;
  std::deque<std::uint64_t> queue = {};
  std::size_t dropped = 0;
  std::string last_failure = {};  ///< as it was logged last
  bool is_stopped = false;
  TimePoint stop_deadline{};
};

net::Task<void> EventRecorder::Body::run(std::shared_ptr<Body> self) {
  while (!self->is_time_up()) {
    if (!self->queue.empty()) {
      const std::uint64_t id = self->queue.front();
      self->queue.pop_front();
      co_await write(self, id);
      continue;
    }
    if (self->is_stopped) co_return;
    co_await self->changed.wait(kIdleWait);
  }
  self->dropped += self->queue.size();
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
  ++self->dropped;
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
    const Result<Json> patched = co_await self->client.patch(
        kEvents, key, dump_json(event_patch(entry)), {.kind = PatchKind::kMerge});
    if (patched) co_return ok_status();
    // Event objects live for an hour.
    if (fault_of(patched.error()) != ApiFault::kNotFound) co_return patched.error();
  }
  const Result<Json> created =
      co_await self->client.create(kEvents, event_namespace(entry),
                                   dump_json(event_object(entry, self->component, self->instance)));
  // A try before this one was taken although it seemed to fail.
  if (created || fault_of(created.error()) == ApiFault::kAlreadyExists) co_return ok_status();
  co_return created.error();
}

EventRecorder::EventRecorder(boost::asio::any_io_executor executor, const Clock& clock,
                             ApiClient& client, std::string component, std::string instance)
    : body_(std::make_shared<Body>(std::move(executor), clock, client, std::move(component),
                                   std::move(instance))) {}

EventRecorder::~EventRecorder() { stop(); }

void EventRecorder::record(EventSubject subject, EventKind kind, std::string reason,
                           std::string message) {
  if (body_->is_stopped || body_->queue.size() >= kQueuedMax) {
    ++body_->dropped;
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

std::size_t EventRecorder::dropped_count() const { return body_->dropped; }

}  // namespace kantha::kube
