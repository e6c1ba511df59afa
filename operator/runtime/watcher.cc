#include "operator/runtime/watcher.h"

#include <chrono>
#include <utility>
#include <variant>

#include "base/log.h"
#include "operator/kube/api_fault.h"

namespace kantha::runtime {
namespace {

struct Probe {
  Probe(MetricRegistry& metrics, const WatcherOptions& options)
      : events(metrics.counter("kantha_operator_watch_events_total",
                               "Objects and bookmarks that came over watches.", labels(options))),
        restarts(metrics.counter("kantha_operator_watch_restarts_total",
                                 "Watches that were opened again from the last version seen.",
                                 labels(options))),
        relists(metrics.counter("kantha_operator_watch_relists_total",
                                "Whole lists that were read again after the first.",
                                labels(options))) {}

  static MetricLabels labels(const WatcherOptions& options) {
    MetricLabels out = {{"resource", std::string(options.resource.plural)}};
    if (!options.name_space.empty()) out.emplace_back("namespace", options.name_space);
    return out;
  }

  Counter& events;
  Counter& restarts;
  Counter& relists;
};

std::string message_of(const std::optional<Error>& error) {
  return error ? error->to_string() : std::string();
}

}  // namespace

/// Kept alive by the coroutine that runs.
struct Watcher::Body {
  Body(boost::asio::any_io_executor executor, const Clock& clock, std::uint64_t seed,
       kube::ApiClient& client, MetricRegistry& metrics, WatcherOptions options, WatchSink sink)
      : clock(clock),
        client(client),
        options(std::move(options)),
        sink(std::move(sink)),
        probe(metrics, this->options),
        wake(std::move(executor)) {
    state.backoff = FaultBackoff(seed);
    state.tuning.pending_objects_max = this->options.pending_objects_max;
    state.phase_since = clock.now();
  }

  // The steps of one task; each gives what to do next.
  WatchDeed decide(const WatchInput& input, const Json* object);
  WatchDeed decide_page(kube::ObjectPage page);
  WatchDeed decide_events(const std::vector<kube::WatchEvent>& events);
  void perform(StoreDeed deed, const Json* object);
  void note(const WatchOutput& output, bool was_troubled);
  void close_watch() { watch.reset(); }

  kube::ListOptions list_options(const WatchDeed& deed) const;
  kube::WatchOptions watch_options(const WatchDeed& deed) const;

  static net::Task<void> run(std::shared_ptr<Body> self);
  static net::Task<WatchDeed> act(std::shared_ptr<Body> self, WatchDeed deed);
  static net::Task<WatchDeed> list(std::shared_ptr<Body> self, WatchDeed deed);
  static net::Task<WatchDeed> open(std::shared_ptr<Body> self, WatchDeed deed);
  static net::Task<WatchDeed> read(std::shared_ptr<Body> self, WatchDeed deed);

  const Clock& clock;
  kube::ApiClient& client;
  WatcherOptions options;
  WatchSink sink;
  Probe probe;
  net::Notify wake;
  WatchState state;
  std::unique_ptr<kube::Watch> watch;
  std::string logged;  ///< the failure that was logged last, while it lasts
  bool is_stopping = false;
};

WatchDeed Watcher::Body::decide(const WatchInput& input, const Json* object) {
  const bool was_troubled = state.trouble.has_value();
  WatchStep step = watcher_step(std::move(state), input, clock.now());
  state = std::move(step.state);
  for (const StoreDeed deed : step.output.store) perform(deed, object);
  note(step.output, was_troubled);
  return std::move(step.output.next);
}

void Watcher::Body::perform(StoreDeed deed, const Json* object) {
  switch (deed) {
    case StoreDeed::kBeginList: return sink.begin_list();
    case StoreDeed::kPublish: return sink.publish(state.resource_version);
    case StoreDeed::kSeenVersion: return sink.seen_version(state.resource_version);
    default: break;
  }
  if (object == nullptr) return;  // a page's objects are staged one by one
  switch (deed) {
    case StoreDeed::kStage: return sink.stage(*object);
    case StoreDeed::kUnstage: return sink.unstage(*object);
    case StoreDeed::kApply: return sink.apply(*object);
    case StoreDeed::kErase: return sink.erase(*object);
    default: return;
  }
}

void Watcher::Body::note(const WatchOutput& output, bool was_troubled) {
  if (output.is_restart) probe.restarts.add();
  if (output.is_relist) probe.relists.add();
  if (was_troubled != state.trouble.has_value()) sink.set_stale(!was_troubled);
  if (!output.failure) return;
  std::string message = message_of(output.failure);
  if (message == logged) return;
  log_warn("watch interrupted", {{"resource", options.resource.plural},
                                 {"namespace", options.name_space},
                                 {"phase", phase_name(state.phase)},
                                 {"error", message}});
  logged = std::move(message);
}

WatchDeed Watcher::Body::decide_page(kube::ObjectPage page) {
  // Each is freed as soon as it is decoded: a page is far larger as JSON.
  const PageSeen seen = {page.items.size(), page.resource_version, page.continue_token};
  for (Json& item : page.items) {
    sink.stage(item);
    item = nullptr;
  }
  return decide(seen, nullptr);
}

WatchDeed Watcher::Body::decide_events(const std::vector<kube::WatchEvent>& events) {
  for (const kube::WatchEvent& event : events) {
    probe.events.add();
    WatchDeed deed = decide(input_of(event), &event.object);
    if (deed.kind != WatchDeed::Kind::kContinue) return deed;
  }
  return decide(EventsTaken{}, nullptr);
}

kube::ListOptions Watcher::Body::list_options(const WatchDeed& deed) const {
  return {.label_selector = options.label_selector,
          .resource_version = deed.resource_version,
          .resource_version_match = deed.resource_version_match,
          .limit = deed.limit,
          .continue_token = deed.continue_token,
          .content = options.content,
          .unread = options.unread};
}

kube::WatchOptions Watcher::Body::watch_options(const WatchDeed& deed) const {
  return {.label_selector = options.label_selector,
          .resource_version = deed.resource_version,
          .send_initial_events = deed.send_initial_events,
          .server_timeout = deed.server_timeout,
          .content = options.content,
          .unread = options.unread};
}

net::Task<void> Watcher::Body::run(std::shared_ptr<Body> self) {
  WatchDeed deed = self->decide(Begin{}, nullptr);
  while (!self->is_stopping) deed = co_await act(self, std::move(deed));
  self->close_watch();
}

net::Task<WatchDeed> Watcher::Body::act(std::shared_ptr<Body> self, WatchDeed deed) {
  if (deed.kind != WatchDeed::Kind::kRead) self->close_watch();
  switch (deed.kind) {
    case WatchDeed::Kind::kList: co_return co_await list(self, std::move(deed));
    case WatchDeed::Kind::kWatch: co_return co_await open(self, std::move(deed));
    case WatchDeed::Kind::kRead: co_return co_await read(self, std::move(deed));
    case WatchDeed::Kind::kPause:
    case WatchDeed::Kind::kContinue: break;
  }
  // Only stop() notifies.
  if (!self->is_stopping) co_await self->wake.wait(deed.pause);
  co_return self->decide(Begin{}, nullptr);
}

net::Task<WatchDeed> Watcher::Body::list(std::shared_ptr<Body> self, WatchDeed deed) {
  kube::ListOptions options = self->list_options(deed);
  Result<kube::ObjectPage> page =
      co_await self->client.list(self->options.resource, self->options.name_space, options);
  if (!page) co_return self->decide(AttemptFailed{page.error()}, nullptr);
  co_return self->decide_page(std::move(page).value());
}

net::Task<WatchDeed> Watcher::Body::open(std::shared_ptr<Body> self, WatchDeed deed) {
  kube::WatchOptions options = self->watch_options(deed);
  Result<std::unique_ptr<kube::Watch>> opened =
      co_await self->client.watch(self->options.resource, self->options.name_space, options);
  if (!opened) co_return self->decide(AttemptFailed{opened.error()}, nullptr);
  self->watch = std::move(opened).value();
  self->logged.clear();
  co_return self->decide(WatchOpened{}, nullptr);
}

net::Task<WatchDeed> Watcher::Body::read(std::shared_ptr<Body> self, WatchDeed deed) {
  if (self->watch == nullptr) {  // the state asks to read what is not open: a fault like any other
    co_return self->decide(WatchEnded{}, nullptr);
  }
  Result<std::vector<kube::WatchEvent>> events = co_await self->watch->read(deed.idle_timeout);
  if (self->is_stopping) co_return deed;
  if (events.ok()) {
    if (events->empty()) co_return self->decide(WatchEnded{}, nullptr);
    co_return self->decide_events(*events);
  }
  if (events.error().code == Code::kDeadlineExceeded) {
    co_return self->decide(WatchQuiet{}, nullptr);
  }
  co_return self->decide(AttemptFailed{events.error()}, nullptr);
}

Watcher::Watcher(boost::asio::any_io_executor executor, const Clock& clock, std::uint64_t seed,
                 kube::ApiClient& client, MetricRegistry& metrics, WatcherOptions options,
                 WatchSink sink)
    : body_(std::make_shared<Body>(std::move(executor), clock, seed, client, metrics,
                                   std::move(options), std::move(sink))) {}

Watcher::~Watcher() { stop(); }

net::Task<void> Watcher::run() { return Body::run(body_); }

void Watcher::stop() {
  body_->is_stopping = true;
  body_->wake.notify();
  if (body_->watch != nullptr) body_->watch->cancel();
}

std::string Watcher::description() const {
  const WatchState& state = body_->state;
  const auto age =
      std::chrono::duration_cast<std::chrono::seconds>(body_->clock.now() - state.phase_since);
  std::string text(phase_name(state.phase));
  if (!state.resource_version.empty()) text += " at " + state.resource_version;
  text += " for " + std::to_string(age.count()) + " s";
  if (state.trouble) text += "; refused: " + state.trouble->message;
  return text;
}

const WatchState& Watcher::state() const { return body_->state; }
const WatcherOptions& Watcher::options() const { return body_->options; }

std::optional<Error> Watcher::trouble() const { return body_->state.trouble; }

}  // namespace kantha::runtime
