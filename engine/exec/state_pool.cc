#include "engine/exec/state_pool.h"

#include <algorithm>

namespace kantha::exec {

using sched::Pooling;

std::span<float> StatePool::room(const sched::StepPlan& plan, std::size_t rows) {
  wanted_ = std::ranges::any_of(plan.grants, [](const sched::Grant& grant) {
    return grant.sequence->spec.pooling != Pooling::kNone;
  });
  if (!wanted_) return {};
  CHECK(width_ > 0, "the door checked the request");
  states_.resize(std::max(states_.size(), rows * width_));
  return std::span(states_).first(rows * width_);
}

void StatePool::add(const sched::StepPlan& plan) {
  if (!wanted_) return;
  std::size_t row = 0;
  for (const sched::Grant& grant : plan.grants) {
    const sched::ScoredRows scored = sched::scored_rows(grant);
    const auto before = static_cast<std::size_t>(scored.end - scored.begin);
    const std::size_t count = before + (grant.samples() ? 1 : 0);
    sched::Sequence& sequence = *grant.sequence;
    const Pooling pooling = sequence.spec.pooling;
    const std::size_t first = pooling == Pooling::kMean ? 0 : before;
    if (pooling != Pooling::kNone && count > first) {
      sequence.pooled.resize(width_);
      for (std::size_t i = first; i < count; ++i) {
        const float* state = states_.data() + (row + i) * width_;
        for (std::size_t d = 0; d < width_; ++d) sequence.pooled[d] += double{state[d]};
      }
    }
    row += count;
  }
}

}  // namespace kantha::exec
