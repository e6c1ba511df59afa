#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "base/clock.h"
#include "base/json.h"
#include "operator/kube/rate_limiter.h"
#include "operator/kube/resource.h"

/// Which events become writes. Pure: time comes in, decisions go out. One owner.
namespace kantha::kube {

struct EventSubject {
  Resource resource;
  ObjectKey key;
  std::string uid;
};

enum class EventKind : std::uint8_t { kNormal, kWarning };

/// One Event object of the API server as we know it.
struct EventEntry {
  EventSubject subject;
  EventKind kind = EventKind::kNormal;
  std::string reason;
  std::string message;
  std::string name;        ///< of the Event object
  std::int64_t count = 0;  ///< times it happened, those that were never written included
  WallTime first_seen;
  WallTime last_seen;
  bool is_stored = false;  ///< the object exists: it is patched, not created
};

enum class EventVerdict : std::uint8_t {
  kWrite,       ///< queue a write of the entry
  kCoalesced,   ///< counted up on a write that is queued already
  kSuppressed,  ///< counted up only: too many about this object
};

/// What a ledger keeps to; the figures are those of client-go's recorder, which readers know. News
/// has a budget of its own, so that what flaps cannot hide how a rollout ended.
struct EventLimits {
  Duration equal_window = std::chrono::minutes(10);  ///< an event so old begins a new object
  double burst = 25;                                 ///< repeats about one object in a row
  Duration refill = std::chrono::minutes(5);         ///< one more repeat each
  double news_burst = 100;                           ///< events not yet stored, in a row
  Duration news_refill = std::chrono::seconds(30);   ///< one more of them each
  std::size_t messages_max = 10;   ///< of one reason about one object; then they are combined
  std::size_t entries_max = 4096;  ///< the longest unused go first, a quarter at a time
  std::size_t message_bytes_max = 1024;
};

class EventLedger {
 public:
  /// `seed` makes names of Event objects that no other run makes.
  explicit EventLedger(std::uint64_t seed, EventLimits limits = {})
      : limits_(limits), seed_(seed) {}

  struct Noted {
    EventVerdict verdict = EventVerdict::kSuppressed;
    std::uint64_t id = 0;  ///< of the entry
  };
  Noted note(const EventSubject& subject, EventKind kind, const std::string& reason,
             std::string message, TimePoint now, WallTime wall_now);
  /// The entry to write now; later events about it queue anew. Nothing when it went meanwhile.
  std::optional<EventEntry> begin_write(std::uint64_t id);
  /// Whether the object is there now; one that is not gets a fresh name.
  void end_write(std::uint64_t id, bool is_stored);
  std::size_t size() const { return entries_.size(); }

 private:
  struct Kept {
    EventEntry entry;
    TimePoint last_at;
    bool is_queued = false;
  };
  struct About {
    TokenBucket repeats;
    TokenBucket news;
    TimePoint last_at;
  };
  struct Variety {
    std::map<std::string, TimePoint> messages;
    TimePoint last_at;
  };
  using Key = std::tuple<std::string, EventKind, std::string, std::string>;
  using Reason = std::tuple<std::string, EventKind, std::string>;

  /// The message, or one that stands for many of its reason.
  std::string combined(const std::string& uid, EventKind kind, const std::string& reason,
                       std::string message, TimePoint now);
  std::string fresh_name(const ObjectKey& key);
  bool may_write(const EventEntry& entry, TimePoint now);
  void forget_old();

  EventLimits limits_;
  std::uint64_t seed_;
  std::uint64_t names_made_ = 0;
  std::uint64_t last_id_ = 0;
  std::map<Key, std::uint64_t> ids_;
  std::map<std::uint64_t, Kept> entries_;
  std::map<std::string, About> about_;  ///< by uid of the subject
  std::map<Reason, Variety> varieties_;
};

/// The core/v1 Event object of an entry.
Json event_object(const EventEntry& entry, const std::string& component,
                  const std::string& instance);
/// The merge patch that counts it up.
Json event_patch(const EventEntry& entry);
/// Namespace of an Event: that of its subject, "default" for cluster-scoped ones.
std::string event_namespace(const EventEntry& entry);

}  // namespace kantha::kube
