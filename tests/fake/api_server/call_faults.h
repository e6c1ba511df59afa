#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "tests/fake/api_server/api_request.h"

/// What goes wrong with one call of one client. Values; one thread.
namespace kantha::fake {

enum class FaultKind : unsigned char {
  kNone,
  kRefuse,       ///< nothing reaches the server: kUnavailable
  kDropAnswer,   ///< the server did it, and the answer is lost: kDataLoss
  kHang,         ///< the server did it, and no answer ever comes: kDeadlineExceeded
  kErrorBefore,  ///< 500, nothing done
  kErrorAfter,   ///< 500 although it was done
  kThrottle,     ///< 429 with Retry-After
  kForbid,       ///< 403
  kGarble,       ///< done; the answer is no JSON
  kCrashBefore,  ///< the client dies as it sends
  kCrashAfter,   ///< the client dies after the server did it
};

struct Fault {
  FaultKind kind = FaultKind::kNone;
  Duration delay_before = {};  ///< before the server sees the call
  Duration delay_after = {};   ///< before the client sees the answer
  int retry_after = 1;         ///< seconds, of kThrottle
};

/// Decides for the call number `index` (from 0) of a client. Lists and watches count too.
using FaultRule = std::function<Fault(std::uint64_t index, const ApiRequest& request)>;

/// Chances of faults in calls, each in [0, 1].
struct FaultRates {
  double refuse = 0;
  double drop_answer = 0;
  double hang = 0;
  double error_before = 0;
  double error_after = 0;
  double throttle = 0;
  double garble = 0;
  double delay = 0;
  Duration delay_max = std::chrono::seconds(2);
};
/// Faults by chance, as a function of (seed, index).
FaultRule seeded_faults(std::uint64_t seed, FaultRates rates);
/// Dies at one call, before or after the server does it; F19's rule.
FaultRule crash_at(std::uint64_t index, bool after);

/// What goes wrong with an open watch: cut after so many bytes, in the middle of a line.
struct WatchFault {
  std::size_t cut_after_bytes = 0;  ///< 0: never
  bool ends_at_once = false;        ///< properly, without an event
};
using WatchFaultRule = std::function<WatchFault(std::uint64_t index, const ApiRequest& request)>;

}  // namespace kantha::fake
