#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "operator/kube/watch_decoder.h"
#include "operator/runtime/fault_backoff.h"

/// The decisions of a watcher, without I/O: (state, input, now) → (state, what to do). Pure.
///
/// Flow:
///   Empty ─ WatchList ──→ Streaming ─ end bookmark ─────────────→ Watching
///   Empty ─ pages ──────→ Listing ─ last page ─→ Listed ─ open ─→ Watching
///   Watching ─ end, cut, silence ─→ Listed (resumed from the last resourceVersion)
///   any ─ 410 ─→ Empty, whose list asks for the last version, then for the newest there is
/// Guarantees: what is staged is published whole or not at all; a bookmark changes no object; every
/// path that did not get on waits: 0.8 s doubling, 30 s at most, anew after two quiet minutes.
/// Assumptions: one caller that does what `next` says and answers with one input.
/// Source: Kubernetes docs, "API Concepts"; KEP-3157 (WatchList), KEP-956 (bookmarks).
namespace kantha::runtime {

enum class WatchPhase : std::uint8_t { kEmpty, kStreaming, kListing, kListed, kWatching };
std::string_view phase_name(WatchPhase phase);

/// How fresh the next list must be.
enum class ListFrom : std::uint8_t {
  kAny,      ///< resourceVersion "0": whatever the server has at hand
  kAtLeast,  ///< not older than the last version seen
  kNewest,   ///< no version: a quorum read
};

struct WatchTuning {
  Duration bookmark_period = std::chrono::seconds(60);  ///< API servers send one a minute
  Duration silence_margin = std::chrono::seconds(60);   ///< beyond what was expected
  Duration server_timeout = std::chrono::seconds(300);  ///< to twice that, at random
  Duration initial_silence = std::chrono::seconds(60);  ///< while the first events are streamed
  Duration shortest_watch = std::chrono::seconds(1);    ///< one that ends sooner is a fault
  std::int64_t page_limit = 500;                        ///< objects in a page
  std::size_t pending_objects_max = 200'000;            ///< of one list
};

struct WatchState {
  WatchTuning tuning = {};
  WatchPhase phase = WatchPhase::kEmpty;
  std::string resource_version = {};  ///< the last one seen; empty: none yet
  ListFrom list_from = ListFrom::kAny;
  std::string continue_token = {};     ///< of the page to read next, in kListing
  std::int64_t page_limit = 0;         ///< 0: as tuned; halved when a page is too large
  bool is_watch_list_refused = false;  ///< this server does not know sendInitialEvents
  std::size_t pending_count = 0;       ///< objects staged
  int expired_lists = 0;               ///< in a row, whose continue token expired
  int broken_streams = 0;              ///< in a row, that ended before their end bookmark
  int stuck_count = 0;                 ///< failures in a row without getting on
  int refused_count = 0;               ///< refusals in a row
  bool has_published = false;          ///< a whole list, at any time
  bool expects_bookmarks = false;      ///< the last watch had some
  TimePoint opened_at{};               ///< of the watch that is open
  Duration server_timeout{};           ///< of that watch
  TimePoint phase_since{};
  FaultBackoff backoff{};
  std::optional<Error> trouble = {};  ///< see Watcher::trouble
};

// Inputs: one for each thing that the caller was told to do.
struct Begin {};  ///< the start, or a pause is over
/// One page was read (its objects are the caller's to stage).
struct PageSeen {
  std::size_t object_count = 0;
  std::string resource_version = {};
  std::string continue_token = {};  ///< empty: the last
};
struct WatchOpened {};
/// One event; an in-stream ERROR is AttemptFailed.
struct EventSeen {
  kube::WatchEventType type = kube::WatchEventType::kAdded;
  std::string resource_version = {};
  bool ends_initial_events = false;  ///< the bookmark of WatchList
};
struct EventsTaken {};  ///< all events of one read were told
struct WatchEnded {};   ///< properly, by the server
struct WatchQuiet {};   ///< nothing came within the idle time
struct AttemptFailed {
  Error error;
};
using WatchInput = std::variant<Begin, PageSeen, WatchOpened, EventSeen, EventsTaken, WatchEnded,
                                WatchQuiet, AttemptFailed>;

/// What to do to the store, in order, with the objects of the input.
enum class StoreDeed : std::uint8_t {
  kBeginList,
  kStage,
  kUnstage,
  kPublish,  ///< at `resource_version` of the state
  kApply,
  kErase,
  kSeenVersion,
};

/// What to do next; closes the watch that is open unless it is kRead or kContinue.
struct WatchDeed {
  enum class Kind : std::uint8_t {
    kContinue,  ///< nothing: more events of this read follow
    kPause,     ///< wait for `pause`, then Begin
    kList,      ///< read a page
    kWatch,     ///< open a watch
    kRead,      ///< read from the open watch
  };
  Kind kind = Kind::kContinue;
  Duration pause{};
  std::string resource_version = {};        ///< kList, kWatch
  std::string resource_version_match = {};  ///< kList
  std::int64_t limit = 0;                   ///< kList
  std::string continue_token = {};          ///< kList
  bool send_initial_events = false;         ///< kWatch
  Duration server_timeout{};                ///< kWatch
  Duration idle_timeout{};                  ///< kRead
};

struct WatchOutput {
  std::vector<StoreDeed> store = {};
  WatchDeed next = {};
  bool is_restart = false;  ///< a watch ended or failed and another follows; for the metrics
  bool is_relist = false;   ///< a list or stream follows though one had been published
  std::optional<Error> failure = {};  ///< for the log
};

struct WatchStep {
  WatchState state;
  WatchOutput output;
};

/// The first input is Begin.
WatchStep watcher_step(WatchState state, const WatchInput& input, TimePoint now);

/// The input that an event is; bookmarks are looked into for the end of the initial events.
WatchInput input_of(const kube::WatchEvent& event);

}  // namespace kantha::runtime
