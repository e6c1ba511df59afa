#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "noded/api/pod_state.h"
#include "operator/serving/plan.h"

/// What the local world knows of one pod, and how the planner sees it. Pure; any thread.
namespace kantha::local {

/// A state older than this says nothing about now.
inline constexpr Duration kStateFreshFor = std::chrono::seconds(5);

/// Facts of one pod, as collected from its process and its admin socket.
struct PodFacts {
  std::string name;
  std::int64_t ordinal = 0;
  std::string pod_revision;      ///< Revision::pod with which it was made
  std::string told_revision;     ///< Revision::whole that it was last told
  std::string told_config_hash;  ///< hash of its engine.json now
  bool running = false;          ///< its noded process runs
  std::string last_exit = {};    ///< how its last noded ended; empty: never
  std::int64_t noded_restarts = 0;
  std::optional<noded::PodState> state = {};  ///< last answer of this noded process
  TimePoint state_at{};                       ///< when that answer came
  std::string unreachable = {};               ///< why the last question had no answer
  std::optional<TimePoint> drain_deadline = {};
  bool terminating = false;
};

/// The facts as the planner reads them.
serving::ObservedPod observe(const PodFacts& facts, TimePoint now);

/// One word for people: starting, ready, restarting, backoff, crash_loop, draining, ending, down.
std::string phase_word(const PodFacts& facts, TimePoint now);

}  // namespace kantha::local
