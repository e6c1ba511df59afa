#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"

/// What was decided about an object, and from what: status.decisions. Plain data; any thread.
namespace kantha::serving {

/// One decision that changed something. Texts hold no figure that moves by itself: they are
/// written once, when the decision is made.
struct Decision {
  std::string kind;    ///< "Scale" or "Rollout"
  std::string from;    ///< "1", or a phase
  std::string to;      ///< "3"
  std::string reason;  ///< CamelCase word: "PressureAboveTarget"
  std::string inputs;  ///< the arithmetic or the evidence, for people
  WallTime at{};       ///< when it was made; whole seconds are kept
  bool operator==(const Decision&) const = default;
};

/// Decisions beyond this are forgotten, oldest first.
inline constexpr std::size_t kDecisionsKept = 16;

/// As status has it: {time, kind, from, to, reason, message}; texts are cut to what the CRD takes.
Json to_json(const Decision& decision);

/// Reads status.decisions. Entries that are wrong (a person may have edited them) are left out.
std::vector<Decision> decisions_from_json(const Json& list);

/// `made` behind `kept`, of which the oldest go.
std::vector<Decision> with_decisions(std::vector<Decision> kept, const std::vector<Decision>& made);

/// The list for status.
Json decisions_json(const std::vector<Decision>& decisions);

}  // namespace kantha::serving
