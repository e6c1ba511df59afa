#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/clock.h"
#include "operator/kube/resource.h"

/// Keys that wait for a worker. Pure: time is given by the caller. One executor.
///
/// Guarantees: a key is with one worker at most; a key added while a worker has it is run once more
/// afterwards, however often it was added; the earliest time wins when a key is added twice, with
/// or without delays; keys are taken in order of readiness. (After the three sets of client-go's
/// workqueue: queue, dirty, processing.)
namespace kantha::runtime {

struct RetryPolicy {
  Duration first = std::chrono::milliseconds(5);
  Duration max = std::chrono::seconds(1000);
};

class WorkQueue {
 public:
  explicit WorkQueue(RetryPolicy policy = {}) : policy_(policy) {}

  void add(const kube::ObjectKey& key, TimePoint now);
  void add_after(const kube::ObjectKey& key, Duration delay, TimePoint now);
  /// Adds with the key's own delay, which doubles with each failure until forget(), or with
  /// `at_least` when that is longer (Retry-After).
  void add_failed(const kube::ObjectKey& key, TimePoint now, Duration at_least = {});
  /// Failures of this key so far.
  int failure_count(const kube::ObjectKey& key) const;
  void forget(const kube::ObjectKey& key);

  /// The next key that may run now; it is with the caller until done().
  std::optional<kube::ObjectKey> take(TimePoint now);
  void done(const kube::ObjectKey& key, TimePoint now);
  /// When take() may succeed without another add; nullopt: not before one.
  std::optional<TimePoint> next_time(TimePoint now) const;

  std::size_t ready_count() const { return queue_.size(); }
  std::size_t delayed_count() const { return delays_.size(); }
  std::size_t processing_count() const { return processing_.size(); }
  /// How long the key at the front has waited; zero when there is none.
  Duration oldest_wait(TimePoint now) const;
  /// How long the key that was taken last had been ready.
  Duration last_wait() const { return last_wait_; }

 private:
  void enqueue(const kube::ObjectKey& key, TimePoint since);
  void drop_delay(const kube::ObjectKey& key);
  void release_due(TimePoint now);

  RetryPolicy policy_;
  std::deque<std::pair<kube::ObjectKey, TimePoint>> queue_;  ///< what waits, in order
  std::unordered_set<kube::ObjectKey>
      dirty_;  ///< what needs work: in the queue, or to be when done
  std::unordered_set<kube::ObjectKey> processing_;         ///< what a worker has
  std::unordered_map<kube::ObjectKey, TimePoint> delays_;  ///< when each delayed key is due
  std::set<std::pair<TimePoint, kube::ObjectKey>> due_;    ///< the same, earliest first
  std::unordered_map<kube::ObjectKey, int> failures_;
  Duration last_wait_{};
};

}  // namespace kantha::runtime
