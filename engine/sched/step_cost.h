#pragma once

#include <array>
#include <cstdint>

/// What a step costs on this machine, learnt from the steps that were run.
namespace kantha::sched {

/// The size of one step.
struct StepShape {
  std::int32_t rows = 0;     ///< tokens computed: decodes and prompt tokens
  std::int32_t decodes = 0;  ///< of them, those of streams that wait for their next token
  /// Sum over the rows of the positions that each attends to, itself included.
  std::int64_t context_tokens = 0;
};

/// seconds = fixed + per row + per token of context, each at least 0. A Kalman filter whose
/// coefficients walk: it follows drift, keeps what a run of equal steps says nothing about, and
/// needs no history. Steps far from their estimate count as far as the usual spread goes, so that
/// one slow step of a noisy machine moves little; three in a row mean that the machine has changed,
/// and it is learnt anew. No clock; one thread.
class StepCost {
 public:
  /// Ignores steps without rows or of no duration.
  void observe(const StepShape& shape, double seconds);

  bool measured() const { return measured_; }
  double estimate(const StepShape& shape) const;
  double per_row() const { return coefficients_[kRow]; }
  double per_context_token() const { return coefficients_[kContext]; }

 private:
  static constexpr std::size_t kFixed = 0, kRow = 1, kContext = 2, kCount = 3;
  using Vector = std::array<double, kCount>;

  static Vector features(const StepShape& shape);
  void begin(const Vector& x, double seconds);
  double unit(std::size_t i) const { return usual_seconds_ / usual_[i]; }
  void forget();
  void restart();
  double judge(double deviation);
  void learn(const Vector& x, double innovation, double noise);
  void keep_positive();

  bool measured_ = false;
  Vector coefficients_{};
  std::array<Vector, kCount> covariance_{};
  Vector usual_{};              ///< moving average of the features
  double usual_seconds_ = 0;    ///< and of the durations
  double spread_ = 1;           ///< moving average of |deviation|, relative
  std::int32_t steps_ = 0;      ///< since everything was new
  std::int32_t surprises_ = 0;  ///< steps in a row beyond the band; negative when below
};

}  // namespace kantha::sched
