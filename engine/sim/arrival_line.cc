#include "engine/sim/arrival_line.h"

#include "base/check.h"

namespace kantha::sim {

ArrivalLine::ArrivalLine(const Workload& workload) : workload_(workload) {
  for (std::size_t i = 0; i < workload.arrivals.size(); ++i) {
    const Arrival& arrival = workload.arrivals[i];
    if (arrival.after == kNone) {
      due_.push({TimePoint{} + arrival.at, static_cast<std::int32_t>(i)});
      continue;
    }
    CHECK(arrival.after >= 0 && static_cast<std::size_t>(arrival.after) < i,
          "after an earlier one");
    dependents_.resize(workload.arrivals.size());
    dependents_[static_cast<std::size_t>(arrival.after)].push_back(static_cast<std::int32_t>(i));
  }
}

std::optional<ArrivalLine::Due> ArrivalLine::next() const {
  if (due_.empty()) return std::nullopt;
  return due_.top();
}

std::optional<ArrivalLine::Due> ArrivalLine::take(TimePoint now) {
  if (due_.empty() || due_.top().at > now) return std::nullopt;
  const Due due = due_.top();
  due_.pop();
  return due;
}

void ArrivalLine::ended(std::int32_t index, TimePoint now) {
  if (dependents_.empty()) return;
  for (const std::int32_t next : dependents_[static_cast<std::size_t>(index)]) {
    due_.push({now + workload_.arrivals[static_cast<std::size_t>(next)].at, next});
  }
}

}  // namespace kantha::sim
