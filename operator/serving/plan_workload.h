#pragma once

#include <cstdint>
#include <vector>

#include "operator/serving/plan.h"

/// The part of the plan that decides on pods: which to make, drain, delete and restart. Pure.
///
/// Checks, in order: pods that are on their way out; pods that are missing; pods on an older
/// revision, within the budget; surplus pods, highest ordinal first. Any thread.
namespace kantha::serving {

/// Appends the deeds of one pass, at most one for each pod.
void plan_workload(const Observed& observed, TimePoint now, std::vector<Action>& actions);

/// Available and verified to run the target revision.
bool runs_target(const Observed& observed, const ObservedPod& pod);

/// Pods that stay and neither run nor were told to run the target revision, or were told and are
/// not there yet.
std::int64_t count_outdated(const Observed& observed);

/// rollout.maxUnavailable as a count, at least 1.
std::int64_t max_unavailable(const ModelServing& serving);

}  // namespace kantha::serving
