#include "operator/runtime/watcher_step.h"

#include <algorithm>
#include <array>
#include <utility>

#include "operator/kube/api_fault.h"
#include "operator/kube/object_meta.h"
#include "operator/runtime/watch_sink.h"

namespace kantha::runtime {
namespace {

using kube::ApiFault;
using kube::WatchEventType;

/// An API server that says "later" is believed up to here.
constexpr Duration kRetryAfterMax = std::chrono::minutes(5);
/// A server that lags behind our version is asked this often, so that we follow it within 5 s.
constexpr Duration kLagPauseMax = std::chrono::seconds(4);
constexpr Duration kAskRefusedAgain = std::chrono::seconds(1);
/// The server ends a watch after minutes; one that ends sooner than this may be the first of many.
constexpr Duration kOrdinaryWatch = std::chrono::minutes(1);
constexpr int kExpiredListsMax = 2;
constexpr int kBrokenStreamsMax = 3;
constexpr int kStuckMax = 5;

bool refuses_watch_list(const Error& error) {
  switch (kube::fault_of(error)) {
    case ApiFault::kInvalid:
    case ApiFault::kUnsupported: return true;
    case ApiFault::kForbidden: return error.message.find("sendInitialEvents") != std::string::npos;
    default: return false;
  }
}

/// One step: the state that it changes and the output that it fills.
class Stepper {
 public:
  Stepper(WatchState state, TimePoint now) : now_(now) { step_.state = std::move(state); }

  void operator()(const Begin&) { go(); }
  void operator()(const PageSeen& page);
  void operator()(const WatchOpened&);
  void operator()(const EventSeen& event);
  void operator()(const EventsTaken&) { read_on(); }
  void operator()(const WatchEnded&);
  void operator()(const WatchQuiet&);
  void operator()(const AttemptFailed& failed);

  WatchStep take() { return std::move(step_); }

 private:
  WatchState& state() { return step_.state; }
  WatchOutput& output() { return step_.output; }
  void enter(WatchPhase phase);
  void deed(StoreDeed deed) { output().store.push_back(deed); }

  // What comes next.
  void go();
  void go_after(Duration pause);
  void start_list();
  void read_page();
  void open_watch(bool send_initial_events, std::string version);
  void read_on();

  // What happened.
  void stage_event(const EventSeen& event);
  void apply_event(const EventSeen& event);
  void staged(std::size_t count, StoreDeed how);
  void published(std::string version);
  void fall_back();
  void abandon_list();
  void expired();
  void lagging(const Error& error);
  void throttled(const Error& error);
  void refused(const Error& error);
  void broken(const Error& error);
  std::string list_version(std::string_view any);

  TimePoint now_;
  WatchStep step_;
};

void Stepper::enter(WatchPhase phase) {
  if (state().phase != phase) state().phase_since = now_;
  state().phase = phase;
}

// --- what comes next
// ------------------------------------------------------------------------------

void Stepper::go() {
  switch (state().phase) {
    case WatchPhase::kListing: return read_page();
    case WatchPhase::kListed:
      output().is_restart = true;
      return open_watch(/*send_initial_events=*/false, state().resource_version);
    default: break;
  }
  output().is_relist = state().has_published;
  deed(StoreDeed::kBeginList);
  state().pending_count = 0;
  // Some servers take the option and never send the end.
  const bool is_broken = state().broken_streams >= kBrokenStreamsMax;
  if (state().is_watch_list_refused || is_broken) return start_list();
  enter(WatchPhase::kStreaming);
  // Streamed from the server's memory, so that the newest costs no more than any.
  open_watch(/*send_initial_events=*/true, list_version(/*any=*/""));
}

void Stepper::go_after(Duration pause) {
  if (pause <= Duration::zero()) return go();
  output().next = {.kind = WatchDeed::Kind::kPause, .pause = pause};
}

std::string Stepper::list_version(std::string_view any) {
  switch (state().list_from) {
    case ListFrom::kAny: return std::string(any);
    case ListFrom::kAtLeast: return state().resource_version;
    case ListFrom::kNewest: break;
  }
  return {};
}

void Stepper::start_list() {
  enter(WatchPhase::kListing);
  state().continue_token.clear();
  read_page();
}

void Stepper::read_page() {
  WatchDeed& next = output().next;
  next.kind = WatchDeed::Kind::kList;
  next.limit = state().page_limit > 0 ? state().page_limit : state().tuning.page_limit;
  // Tokens that expire again and again: this server or we are too slow for pages.
  if (state().expired_lists >= kExpiredListsMax) next.limit = 0;
  next.continue_token = state().continue_token;
  if (!next.continue_token.empty()) return;  // the token says which version
  next.resource_version = list_version(/*any=*/"0");
  if (state().list_from == ListFrom::kAtLeast) next.resource_version_match = "NotOlderThan";
}

void Stepper::open_watch(bool send_initial_events, std::string version) {
  const Duration shortest = state().tuning.server_timeout;
  state().server_timeout =
      shortest + std::chrono::duration_cast<Duration>(shortest * state().backoff.random());
  output().next = {.kind = WatchDeed::Kind::kWatch,
                   .resource_version = std::move(version),
                   .send_initial_events = send_initial_events,
                   .server_timeout = state().server_timeout};
}

void Stepper::read_on() {
  const WatchTuning& tuning = state().tuning;
  Duration expected = state().server_timeout;
  if (state().expects_bookmarks) expected = std::min(expected, tuning.bookmark_period);
  const bool is_streaming = state().phase == WatchPhase::kStreaming;
  output().next = {
      .kind = WatchDeed::Kind::kRead,
      .idle_timeout = is_streaming ? tuning.initial_silence : expected + tuning.silence_margin};
}

// --- what happened
// --------------------------------------------------------------------------------

void Stepper::operator()(const PageSeen& page) {
  if (state().phase != WatchPhase::kListing) return go();
  // A page counts as one at least, so that empty ones that go on for ever end, too.
  staged(std::max<std::size_t>(page.object_count, 1), StoreDeed::kStage);
  if (state().phase != WatchPhase::kListing) return;
  state().stuck_count = 0;
  state().continue_token = page.continue_token;
  if (!page.continue_token.empty()) return read_page();
  published(page.resource_version);
  enter(WatchPhase::kListed);
  open_watch(/*send_initial_events=*/false, state().resource_version);
}

void Stepper::operator()(const WatchOpened&) {
  state().opened_at = now_;
  if (state().phase == WatchPhase::kListed) {
    state().trouble.reset();
    state().refused_count = 0;
    enter(WatchPhase::kWatching);
  }
  read_on();
}

void Stepper::operator()(const EventSeen& event) {
  if (state().phase == WatchPhase::kStreaming) return stage_event(event);
  if (state().phase == WatchPhase::kWatching) apply_event(event);
}

void Stepper::stage_event(const EventSeen& event) {
  switch (event.type) {
    case WatchEventType::kAdded:
    case WatchEventType::kModified: return staged(1, StoreDeed::kStage);
    case WatchEventType::kDeleted: return deed(StoreDeed::kUnstage);
    case WatchEventType::kBookmark: break;
    case WatchEventType::kError: return;
  }
  if (!event.ends_initial_events) return;
  published(event.resource_version);
  enter(WatchPhase::kWatching);
}

void Stepper::apply_event(const EventSeen& event) {
  if (!event.resource_version.empty()) {
    const auto order = kube::compare_versions(event.resource_version, state().resource_version);
    if (order == std::partial_ordering::less) return;  // no news
    state().resource_version = event.resource_version;
    state().stuck_count = 0;
  }
  switch (event.type) {
    case WatchEventType::kAdded:
    case WatchEventType::kModified: return deed(StoreDeed::kApply);
    case WatchEventType::kDeleted: return deed(StoreDeed::kErase);
    case WatchEventType::kBookmark:
      if (!event.ends_initial_events) state().expects_bookmarks = true;
      return deed(StoreDeed::kSeenVersion);
    case WatchEventType::kError: return;
  }
}

void Stepper::staged(std::size_t count, StoreDeed how) {
  state().pending_count += count;
  if (state().pending_count <= state().tuning.pending_objects_max) return deed(how);
  const Error error = {Code::kResourceExhausted,
                       "a list of more than " + std::to_string(state().tuning.pending_objects_max) +
                           " objects is not held"};
  state().trouble = error;
  output().failure = error;
  abandon_list();
  go_after(state().backoff.next(now_));
}

void Stepper::published(std::string version) {
  state().resource_version = std::move(version);
  state().list_from = ListFrom::kAtLeast;
  state().pending_count = 0;
  state().expired_lists = 0;
  state().broken_streams = 0;
  state().stuck_count = 0;
  state().page_limit = 0;
  state().continue_token.clear();
  state().has_published = true;
  state().refused_count = 0;
  state().trouble.reset();
  deed(StoreDeed::kPublish);
}

void Stepper::operator()(const WatchEnded&) {
  const Duration lived = now_ - state().opened_at;
  const bool was_streaming = state().phase == WatchPhase::kStreaming;
  fall_back();
  if (was_streaming || lived < state().tuning.shortest_watch) {
    return go_after(state().backoff.next(now_));
  }
  go_after(lived < kOrdinaryWatch ? state().backoff.next_unless_first(now_) : Duration::zero());
}

void Stepper::operator()(const WatchQuiet&) {
  output().failure = Error{Code::kDeadlineExceeded, "nothing came over the watch for too long"};
  fall_back();
  state().expects_bookmarks = false;
  go_after(state().backoff.next_unless_first(now_));
}

/// To where the next attempt begins.
void Stepper::fall_back() {
  switch (state().phase) {
    case WatchPhase::kWatching: return enter(WatchPhase::kListed);
    case WatchPhase::kStreaming: ++state().broken_streams; return abandon_list();
    default: return;
  }
}

void Stepper::abandon_list() {
  deed(StoreDeed::kBeginList);
  state().pending_count = 0;
  state().continue_token.clear();
  enter(WatchPhase::kEmpty);
}

void Stepper::operator()(const AttemptFailed& failed) {
  const Error& error = failed.error;
  output().failure = error;
  if (state().phase == WatchPhase::kStreaming && refuses_watch_list(error)) {
    state().is_watch_list_refused = true;
    abandon_list();
    return go();
  }
  switch (kube::fault_of(error)) {
    case ApiFault::kExpired: return expired();
    case ApiFault::kFutureVersion: return lagging(error);
    case ApiFault::kThrottled: return throttled(error);
    case ApiFault::kForbidden:
    case ApiFault::kNotFound:
    case ApiFault::kInvalid:
    case ApiFault::kUnsupported: return refused(error);
    default: return broken(error);
  }
}

void Stepper::expired() {
  const bool is_watch =
      state().phase == WatchPhase::kListed || state().phase == WatchPhase::kWatching;
  const bool is_token = state().phase == WatchPhase::kListing && !state().continue_token.empty();
  abandon_list();
  if (is_watch) return go_after(state().backoff.next_unless_first(now_));
  if (is_token) {
    ++state().expired_lists;
    return go_after(state().backoff.next_unless_first(now_));
  }
  // A list at our version: the server no longer has it, so any newer one will do.
  const bool was_newest = state().list_from == ListFrom::kNewest;
  state().list_from = ListFrom::kNewest;
  go_after(was_newest ? state().backoff.next(now_) : Duration::zero());
}

void Stepper::lagging(const Error& error) {
  const Duration told =
      std::min<Duration>(std::chrono::milliseconds(error.retry_after_ms), kRetryAfterMax);
  if (state().phase == WatchPhase::kListed || state().phase == WatchPhase::kWatching) {
    fall_back();
    return go_after(std::max(std::min(state().backoff.next(now_), kLagPauseMax), told));
  }
  const bool was_newest = state().list_from == ListFrom::kNewest;
  abandon_list();
  state().list_from = ListFrom::kNewest;
  if (!was_newest) return go();
  go_after(std::max(std::min(state().backoff.next(now_), kLagPauseMax), told));
}

void Stepper::throttled(const Error& error) {
  const Duration told =
      std::min<Duration>(std::chrono::milliseconds(error.retry_after_ms), kRetryAfterMax);
  const int broken_streams = state().broken_streams;
  fall_back();
  state().broken_streams = broken_streams;  // a server that is busy is not one that cannot
  go_after(std::max(state().backoff.next(now_), told));
}

/// Nothing here mends it: access revoked, kind deleted. Asked for slowly, for ever.
void Stepper::refused(const Error& error) {
  const bool is_forbidden = kube::fault_of(error) == ApiFault::kForbidden;
  if (is_forbidden && state().has_published && state().refused_count++ == 0) {
    // An API server that has just started forbids all until it has read who may do what.
    fall_back();
    return go_after(kAskRefusedAgain);
  }
  state().trouble = error;
  if (kube::fault_of(error) == ApiFault::kNotFound) {
    abandon_list();
  } else {
    fall_back();
  }
  go_after(state().backoff.next(now_));
}

void Stepper::broken(const Error& error) {
  const ApiFault fault = kube::fault_of(error);
  const bool is_answer = fault == ApiFault::kServer || fault == ApiFault::kMalformed;
  const int broken_streams = state().broken_streams;
  ++state().stuck_count;
  if (fault == ApiFault::kUnauthorized && state().stuck_count > 1) state().trouble = error;
  if (fault == ApiFault::kMalformed && state().phase == WatchPhase::kListing) {
    // Perhaps too large: smaller pages, which only a list at no version is sure to come in.
    const std::int64_t limit =
        state().page_limit > 0 ? state().page_limit : state().tuning.page_limit;
    state().page_limit = std::max<std::int64_t>(limit / 2, 1);
    if (state().list_from == ListFrom::kAny) state().list_from = ListFrom::kNewest;
  }
  fall_back();
  // A stream that was cut counts as broken, a server that is away does not.
  if (error.code != Code::kDataLoss) state().broken_streams = broken_streams;
  if (is_answer && state().stuck_count >= kStuckMax) {
    // The same place fails again and again (an event that we can't read): go around it.
    state().stuck_count = 0;
    abandon_list();
  }
  go_after(state().backoff.next(now_));
}

}  // namespace

std::string_view phase_name(WatchPhase phase) {
  constexpr std::array<std::string_view, 5> kNames = {"Empty", "Streaming", "Listing", "Listed",
                                                      "Watching"};
  return kNames.at(static_cast<std::size_t>(phase));
}

WatchStep watcher_step(WatchState state, const WatchInput& input, TimePoint now) {
  Stepper stepper(std::move(state), now);
  std::visit(stepper, input);
  return stepper.take();
}

WatchInput input_of(const kube::WatchEvent& event) {
  if (event.type == WatchEventType::kError) {
    return AttemptFailed{kube::api_error_of_status(event.object)};
  }
  EventSeen seen = {event.type, version_of(event.object)};
  if (event.type != WatchEventType::kBookmark || !event.object.is_object()) return seen;
  const auto meta = event.object.find("metadata");
  if (meta == event.object.end() || !meta->is_object()) return seen;
  const auto annotations = meta->find("annotations");
  if (annotations == meta->end() || !annotations->is_object()) return seen;
  const auto mark = annotations->find("k8s.io/initial-events-end");
  seen.ends_initial_events = mark != annotations->end() && mark->is_string() && *mark == "true";
  return seen;
}

}  // namespace kantha::runtime
