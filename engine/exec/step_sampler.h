#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/exec/forward.h"
#include "engine/exec/sampler.h"
#include "engine/sched/scheduler.h"

/// From one step's logits to its tokens.
namespace kantha::exec {

/// The rows that a step's forward pass has written.
struct LogitRows {
  std::span<float> logits;        ///< [S, vocabulary]
  std::span<const float> maxima;  ///< [S, logit_blocks(vocabulary)]
  std::span<const float> sums;    ///< [S, logit_blocks(vocabulary)] at StepSampler's temperatures
};

/// Samples the rows of a step. Plain greedy rows cost next to nothing and are done at once; the
/// others, which may read whole rows, are shared out over the forward's threads. A row's token is a
/// pure function of the row, its request's parameters and its place in the output, hence the same
/// on whatever thread. The engine thread owns it; nothing is allocated once the largest step has
/// been seen, but for log-probabilities that are asked for.
class StepSampler {
 public:
  explicit StepSampler(int threads) : samplers_(static_cast<std::size_t>(threads)) {}

  /// Inverse temperatures [S] at which the rows' sums are wanted, for the forward pass; valid until
  /// the next call.
  std::span<const float> inverse_temperatures(const sched::StepPlan& plan);
  /// One result per grant that samples, in order; prompt scores go to their sequences. Edits
  /// overwrite the logits.
  void sample(const sched::StepPlan& plan, LogitRows rows, Forward& forward,
              std::vector<sched::SampledToken>& sampled);

 private:
  /// A row and whose it is.
  struct Job {
    sched::Sequence* sequence = nullptr;
    std::size_t row = 0;
    /// Index in the results; kScore: scores the prompt token after `position`.
    std::size_t result = 0;
    std::int32_t position = 0;
  };
  static constexpr std::size_t kScore = static_cast<std::size_t>(-1);

  void list(const sched::StepPlan& plan);

  std::vector<Sampler> samplers_;  ///< one per thread
  std::vector<Job> quick_;         ///< plain greedy rows
  std::vector<Job> shared_;        ///< rows that are shared out
  std::size_t results_ = 0;        ///< rows that are sampled
  std::vector<float> inverse_temperatures_;
};

}  // namespace kantha::exec
