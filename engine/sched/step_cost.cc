#include "engine/sched/step_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace kantha::sched {
namespace {

constexpr double kMemory = 16;       // steps of the moving averages
constexpr double kWalk = 0.005;      // of its unit that a coefficient may drift in a step
constexpr double kSpreadMin = 0.03;  // no machine is quieter
constexpr double kSpreadMax = 0.3;   // while everything is new
constexpr double kBandOfSpread = 4;  // beyond so many spreads a step is a surprise
constexpr double kBandMin = 0.2;
constexpr std::int32_t kYoung = 6;      // so many steps are believed whole
constexpr std::int32_t kSurprises = 3;  // in a row: not noise

}  // namespace

StepCost::Vector StepCost::features(const StepShape& shape) {
  return {1, static_cast<double>(shape.rows), static_cast<double>(shape.context_tokens)};
}

double StepCost::estimate(const StepShape& shape) const {
  const Vector x = features(shape);
  double seconds = 0;
  for (std::size_t i = 0; i < kCount; ++i) seconds += coefficients_[i] * x[i];
  return seconds;
}

void StepCost::observe(const StepShape& shape, double seconds) {
  if (shape.rows <= 0 || !(seconds > 0)) return;
  Vector x = features(shape);
  x[kContext] = std::max(x[kContext], 1.0);
  if (!measured_) {
    begin(x, seconds);
    return;
  }
  for (std::size_t i = 0; i < kCount; ++i) usual_[i] += (x[i] - usual_[i]) / kMemory;
  usual_seconds_ += (std::min(seconds, 4 * usual_seconds_) - usual_seconds_) / kMemory;
  forget();
  // An estimate of nearly nothing is no measure of a deviation.
  const double expected = std::max(estimate(shape), seconds / 1000);
  const double deviation = judge((seconds - expected) / expected);
  // Steps are slower than they should be, never much faster: a short one is exact.
  const double noise = std::clamp(spread_, kSpreadMin, kSpreadMax) * std::min(expected, seconds);
  learn(x, deviation * expected, noise);
  keep_positive();
}

/// Each coefficient alone could explain the first step. The guess is that rows do, because a budget
/// that is too small does no harm and soon teaches better.
void StepCost::begin(const Vector& x, double seconds) {
  measured_ = true;
  usual_ = x;
  usual_seconds_ = seconds;
  restart();
  coefficients_[kRow] = unit(kRow);
}

/// Nothing is certain any more; the coefficients stay as the best guess.
void StepCost::restart() {
  covariance_ = {};
  for (std::size_t i = 0; i < kCount; ++i) covariance_[i][i] = unit(i) * unit(i);
  spread_ = kBandMin;
  surprises_ = 0;
  steps_ = 0;
}

/// Lets every coefficient walk a little. What no step tells anything about becomes uncertain, but
/// not without bound.
void StepCost::forget() {
  for (std::size_t i = 0; i < kCount; ++i) {
    const double bound = unit(i) * unit(i);
    covariance_[i][i] += kWalk * kWalk * bound;
    if (covariance_[i][i] <= bound) continue;
    const double shrink = std::sqrt(bound / covariance_[i][i]);
    for (std::size_t j = 0; j < kCount; ++j) {
      covariance_[i][j] *= shrink;
      covariance_[j][i] *= shrink;
    }
  }
}

/// The part of a relative deviation that is believed.
double StepCost::judge(double deviation) {
  if (++steps_ <= kYoung) return deviation;
  const double band = std::clamp(kBandOfSpread * spread_, kBandMin, 1.0);
  if (std::abs(deviation) <= band) {
    surprises_ = 0;
  } else if (deviation > 0) {
    surprises_ = std::max(surprises_, 0) + 1;
  } else {
    surprises_ = std::min(surprises_, 0) - 1;
  }
  if (std::abs(surprises_) >= kSurprises) {
    restart();
    return deviation;
  }
  const double believed = std::clamp(deviation, -band, band);
  spread_ += (std::abs(believed) - spread_) / kMemory;
  return believed;
}

void StepCost::learn(const Vector& x, double innovation, double noise) {
  Vector shared{};  // covariance · x
  double variance = noise * noise;
  for (std::size_t i = 0; i < kCount; ++i) {
    for (std::size_t j = 0; j < kCount; ++j) shared[i] += covariance_[i][j] * x[j];
    variance += x[i] * shared[i];
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    coefficients_[i] += shared[i] / variance * innovation;
    for (std::size_t j = 0; j < kCount; ++j) {
      covariance_[i][j] -= shared[i] * shared[j] / variance;
    }
  }
}

/// Puts a negative coefficient to 0 and moves the others as far as they hang together with it.
void StepCost::keep_positive() {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (coefficients_[i] >= 0 || covariance_[i][i] <= 0) continue;
    const double excess = coefficients_[i] / covariance_[i][i];
    for (std::size_t j = 0; j < kCount; ++j) coefficients_[j] -= covariance_[j][i] * excess;
  }
  for (double& coefficient : coefficients_) coefficient = std::max(coefficient, 0.0);
}

}  // namespace kantha::sched
