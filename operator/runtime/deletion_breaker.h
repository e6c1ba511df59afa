#pragma once

#include <cstddef>
#include <deque>

#include "base/clock.h"

/// Stops a wave of deletes: at most max(3, 10 % of the fleet) in a minute, whatever was decided. A
/// flipped selector or owner in etcd must not end every pod (Mutiny, DSN'24: half of the
/// cluster-wide failures came from fields that link objects). Deletes that a user asked for
/// (replicas lowered, object deleted) count as well, but with the allowance given. Pure.
namespace kantha::runtime {

class DeletionBreaker {
 public:
  /// True and counted: this delete may happen now. `fleet` is the count of pods of all objects.
  bool allow(std::size_t fleet, TimePoint now);
  /// Counts a delete that needs no leave, because its user asked for it.
  void count(TimePoint now);
  /// When the next delete may pass; for the requeue.
  Duration retry_after(std::size_t fleet, TimePoint now) const;
  /// Deletes in the last minute.
  std::size_t recent_count(TimePoint now) const;
  std::size_t refused_count() const { return refused_count_; }

 private:
  void drop_old(TimePoint now);

  std::deque<TimePoint> recent_;
  std::size_t refused_count_ = 0;
};

}  // namespace kantha::runtime
