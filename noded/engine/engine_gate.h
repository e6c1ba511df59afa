#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/net/http.h"
#include "base/net/task.h"
#include "noded/api/pod_state.h"

namespace kantha::noded {

/// How the engines before the present one ended.
struct EngineEnds {
  std::int64_t count = 0;  ///< that were seen to end
  /// What is known of the last one. It crashed when it ended by itself, or was killed because it
  /// hung: what it worked on may be the cause. It was ended when somebody else ended it.
  enum class Last : std::uint8_t { kUnknown, kCrashed, kWasEnded } last = Last::kUnknown;
};

/// What the front door needs to know of its engine. Implemented by the supervisor, and by fakes in
/// tests. One executor.
class EngineGate {
 public:
  virtual ~EngineGate() = default;
  virtual EnginePhase phase() const = 0;
  /// Why the phase is what it is, as a sentence for people.
  virtual std::string message() const = 0;
  /// Waits until the engine is ready (true), or until the timeout, a crash loop or the pod's end
  /// (false).
  virtual net::Task<bool> wait_ready(Duration timeout) = 0;
  /// An exchange failed at the connection: look again now instead of at the next turn.
  virtual void suspect() = 0;
  virtual net::Endpoint endpoint() const = 0;
  /// True once an engine has been ready, whatever came later.
  virtual bool was_ready() const = 0;
  /// Counts the ends of engines, for whoever asks whether a request ends engines.
  virtual EngineEnds ends() const { return {}; }
};

}  // namespace kantha::noded
