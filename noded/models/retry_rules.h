#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

/// When to try again. Pure; any thread.
namespace kantha::noded {

struct RetryPolicy {
  Duration pause_first = std::chrono::seconds(1);  ///< doubles with every failure in a row
  Duration pause_max = std::chrono::seconds(60);
  /// So many failures in a row without a new byte end a round.
  int failures_max = 8;
  /// After a round that failed; doubles with every round.
  Duration hold_first = std::chrono::minutes(5);
  Duration hold_max = std::chrono::hours(1);
};

/// How one attempt at one address ended.
enum class AttemptEnd : std::uint8_t {
  kComplete,  ///< all bytes are there
  kRetry,     ///< cut, stalled, refused to connect, 5xx: later, or at another address
  kRefused,   ///< this address does not have the file (401, 403, 404, not weights, wrong digest)
  kAnew,      ///< what was there is of another file and was dropped: at once, from the first byte
  kNoSpace,   ///< the disk is full
  kStopped,   ///< we were told to end
};

enum class NextMove : std::uint8_t { kTryNow, kPause, kHold };

struct RetryState {
  int failures_in_row = 0;
  int anew_in_row = 0;     ///< restarts from the first byte in this round
  int refused_in_row = 0;  ///< different addresses, one after the other
  int rounds = 0;          ///< rounds that failed
  std::size_t mirror = 0;  ///< the address to ask next
};

struct RetryStep {
  RetryState state;
  NextMove move = NextMove::kTryNow;
  Duration wait{};  ///< for kPause and kHold
};

/// What follows an attempt that did not complete. `progress`: it brought new bytes. `asked`: what
/// the server said in Retry-After (a longer pause, never a shorter one). `chance` in [0, 1) takes
/// up to a quarter off a pause, so that nodes do not come back together.
RetryStep retry_step(RetryState state, AttemptEnd end, bool progress, Duration asked,
                     std::size_t mirrors, double chance, const RetryPolicy& policy);

}  // namespace kantha::noded
