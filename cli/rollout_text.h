#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"

/// A rollout as `kantha rollout` shows it, and what its verbs ask for, from a ModelServing with
/// status. Pure; any thread.
namespace kantha::cli {

/// A few lines: phase, revisions, rings, gates, how long at least, why.
std::string rollout_text(const Json& object, WallTime now);

/// The revisions that are known, newest first.
std::string rollout_history(const Json& object);

/// Nothing moves any more: Done, RolledBack, or nothing was ever rolled out.
bool rollout_is_over(const Json& object);

enum class RolloutVerb : unsigned char { kPause, kResume, kAbort, kPromote, kSkip, kUndo };

/// The merge patch that a verb comes to. kFailedPrecondition: there is nothing to abort, promote or
/// undo, and why. `is_local`: a world of this machine, whose file is its user's.
Result<Json> rollout_patch(RolloutVerb verb, const Json& object, bool is_local);

}  // namespace kantha::cli
