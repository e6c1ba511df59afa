#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "operator/serving/plan.h"

/// The part of the plan that decides on pods: which to make, drain, delete and restart. Pure.
///
/// Checks, in order: pods that are on their way out; pods that are missing; pods on an older
/// revision, within the budget; surplus pods (plan_victims.h). Any thread.
namespace kantha::serving {

/// Appends the deeds of one pass, at most one for each pod.
void plan_workload(const Observed& observed, TimePoint now, std::vector<Action>& actions);

/// Ordinals that stay and are to run the target; the others run the last good revision. Pods
/// that were told the target come first; then those that serve nobody, or run neither revision;
/// then the lowest ordinals, so that pods added by a scale-out come last.
std::set<std::int64_t> ordinals_on_target(const Observed& observed);

/// Every pod is available and verified to run what it is to run.
bool runs_as_assigned(const Observed& observed);

/// Was told to run the target, in a pod made for it.
bool was_told_target(const Observed& observed, const ObservedPod& pod);

/// Available and verified to run the target revision.
bool runs_target(const Observed& observed, const ObservedPod& pod);

/// Pods that stay and neither run nor were told to run the target revision, or were told and are
/// not there yet.
std::int64_t count_outdated(const Observed& observed);

/// rollout.maxUnavailable as a count, at least 1.
std::int64_t max_unavailable(const ModelServing& serving);

}  // namespace kantha::serving
