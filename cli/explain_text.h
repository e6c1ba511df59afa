#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/cluster_view.h"
#include "operator/local/world_view.h"

/// Why a ModelServing is as it is, as text. Pure; any thread.
namespace kantha::cli {

/// Head line, counts, conditions, and pods with reasons.
std::string explain_world(const local::WorldView& view);

/// The arithmetic behind the count of pods, and the last decisions; empty without either.
std::string explain_scaling(const local::WorldView& view);

/// The last ten Events, oldest first.
std::string explain_events(const std::vector<Json>& events);

/// What the operator would do now, and why.
std::string explain_plan(const PlanView& view);

}  // namespace kantha::cli
