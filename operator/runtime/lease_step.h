#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.h"
#include "operator/runtime/lease_record.h"

/// The decisions of a contender for a Lease, without I/O: (state, input, now) → (state, what to
/// do). Pure.
///
/// Guarantees (see leader_lease.h): a contender leads only within renew_deadline of the moment
/// before it sent the write that succeeded last; it takes a Lease over only after it has itself
/// seen it unchanged for the longer of `duration` and what the record says.
/// Assumption: the writes are conditional on the resourceVersion that was read.
/// Source: client-go's leaderelection; KEP-589.
namespace kantha::runtime {

struct LeaseTimes {
  Duration duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry = std::chrono::seconds(2);  ///< up to 1.2 times that while waiting
};

struct LeaseState {
  std::string identity = {};
  LeaseTimes times = {};
  std::uint64_t seed = 0;
  std::uint64_t draws = 0;

  LeaseRecord record = {};            ///< as seen or written last
  std::string resource_version = {};  ///< of it; empty: none seen yet, or it is absent
  bool is_absence = false;            ///< what was seen last is that there is no Lease
  TimePoint seen_at{};                ///< when that was first seen
  std::optional<TimePoint> leading_until = {};
  TimePoint sent_at{};     ///< before the write under way
  bool is_unsure = false;  ///< a write of ours may have happened
  bool is_releasing = false;
  int release_tries = 0;

  bool is_leading(TimePoint now) const { return leading_until && now < *leading_until; }
};

struct LeaseDue {};  ///< the start, or a wait is over
struct LeaseFound {
  LeaseRecord record;
  std::string resource_version;
};
struct LeaseAbsent {};
struct LeaseWritten {
  std::string resource_version;
};
struct LeaseRefused {};  ///< somebody else wrote, created or deleted it first
struct LeaseFailed {};   ///< no usable answer to a read or write
struct LeaseStop {};     ///< no writer is left: give it back
using LeaseInput = std::variant<LeaseDue, LeaseFound, LeaseAbsent, LeaseWritten, LeaseRefused,
                                LeaseFailed, LeaseStop>;

struct LeaseDeed {
  enum class Kind : std::uint8_t { kWait, kLook, kCreate, kReplace, kEnd };
  Kind kind = Kind::kWait;
  Duration wait{};          ///< kWait, then LeaseDue
  LeaseRecord record = {};  ///< kCreate, kReplace; the times are the caller's to fill in
};

struct LeaseStep {
  LeaseState state;
  LeaseDeed deed;
};

/// The first input is LeaseDue.
LeaseStep lease_step(LeaseState state, const LeaseInput& input, TimePoint now);

}  // namespace kantha::runtime
