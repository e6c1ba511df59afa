#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/sched/scheduler.h"

/// Hidden states of prompts, added up while they are computed (GenerateSpec::pooling).
namespace kantha::exec {

/// The engine thread owns it. Takes memory when the first request pools.
class StatePool {
 public:
  /// `width` of a hidden state; 0: the forward pass does not tell them, and no request pools.
  explicit StatePool(std::int32_t width) : width_(static_cast<std::size_t>(width)) {}

  /// Room for the hidden states [rows, width] of a step; empty when none of its sequences pools.
  std::span<float> room(const sched::StepPlan& plan, std::size_t rows);
  /// Adds what the forward pass wrote there to its sequences, in the order of positions, so that
  /// the sums do not depend on how a prompt was cut into steps.
  void add(const sched::StepPlan& plan);

 private:
  std::size_t width_;
  std::vector<float> states_;  ///< [rows, width] of the step
  bool wanted_ = false;
};

}  // namespace kantha::exec
