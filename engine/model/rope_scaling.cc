#include "engine/model/rope_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace kantha::model {
namespace {

constexpr double kFactorMax = 1e6;

Status check_factor(std::string_view what, double value) {
  if (value > 1e-3 && value < kFactorMax) return ok_status();
  return data_loss(fmt::format("rope scaling: {}: expected a number in (0.001, {}), got {}", what,
                               kFactorMax, value));
}

Status check_original(const RopeScaling& scaling) {
  if (scaling.original_context >= 2) return ok_status();
  return data_loss(fmt::format("rope scaling: original context: expected at least 2, got {}",
                               scaling.original_context));
}

double frequency(const LlamaConfig& config, std::size_t pair) {
  return std::pow(double{config.rope_base}, -2.0 * static_cast<double>(pair) / config.rope_dims);
}

std::vector<double> llama3_divisors(const RopeScaling& scaling, const LlamaConfig& config) {
  std::vector<double> divisors(static_cast<std::size_t>(config.rope_dims / 2));
  const double low = scaling.low_frequency_factor;
  const double high = scaling.high_frequency_factor;
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    const double wavelength = 2 * std::numbers::pi / frequency(config, i);
    const double turns = scaling.original_context / wavelength;
    // 0 where the context holds few turns of this pair, 1 where it holds many.
    const double smooth = high == low ? (turns > high ? 1.0 : 0.0) : (turns - low) / (high - low);
    const double kept = std::clamp(smooth, 0.0, 1.0);
    divisors[i] = 1 / ((1 - kept) / scaling.factor + kept);
  }
  return divisors;
}

/// The pair that makes `turns` turns within the original context.
double yarn_dimension(const RopeScaling& scaling, const LlamaConfig& config, double turns) {
  return config.rope_dims * std::log(scaling.original_context / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(double{config.rope_base}));
}

std::vector<double> yarn_divisors(const RopeScaling& scaling, const LlamaConfig& config) {
  double low = yarn_dimension(scaling, config, scaling.beta_fast);
  double high = yarn_dimension(scaling, config, scaling.beta_slow);
  if (scaling.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, config.rope_dims - 1.0);
  if (low == high) high += 0.001;
  std::vector<double> divisors(static_cast<std::size_t>(config.rope_dims / 2));
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    divisors[i] = 1 / (ramp / scaling.factor + 1 - ramp);
  }
  return divisors;
}

double yarn_magnitude(const RopeScaling& scaling) {
  if (scaling.attention_factor) return *scaling.attention_factor;
  const auto of = [&](double mscale) {
    return scaling.factor <= 1 ? 1.0 : 0.1 * mscale * std::log(scaling.factor) + 1;
  };
  if (scaling.mscale != 0 && scaling.mscale_all_dim != 0) {
    return of(scaling.mscale) / of(scaling.mscale_all_dim);
  }
  return of(1);
}

Status apply_yarn(const RopeScaling& scaling, LlamaConfig& config) {
  TRY_OK(check_original(scaling));
  if (!(scaling.beta_fast > 0) || !(scaling.beta_slow > 0) || config.rope_base <= 1) {
    return data_loss(
        fmt::format("rope scaling: yarn: expected betas above 0 and a base above 1, "
                    "got {}, {} and {}",
                    scaling.beta_fast, scaling.beta_slow, config.rope_base));
  }
  config.rope_divisors = yarn_divisors(scaling, config);
  config.rope_magnitude = static_cast<float>(yarn_magnitude(scaling));
  return check_factor("attention factor", double{config.rope_magnitude});
}

Status apply_longrope(const RopeScaling& scaling, LlamaConfig& config) {
  TRY_OK(check_original(scaling));
  const auto pairs = static_cast<std::size_t>(config.rope_dims / 2);
  const std::pair<std::string_view, const std::vector<double>&> lists[] = {
      {"short factors", scaling.short_factors}, {"long factors", scaling.long_factors}};
  for (const auto& [name, factors] : lists) {
    if (factors.size() != pairs) {
      return data_loss(fmt::format("rope scaling: {}: expected {} of them, got {}", name, pairs,
                                   factors.size()));
    }
    for (const double factor : factors) TRY_OK(check_factor(name, factor));
  }
  config.rope_divisors = scaling.short_factors;
  config.rope_divisors_long = scaling.long_factors;
  const double original = scaling.original_context;
  const double stretch = scaling.factor != 1 ? scaling.factor : config.context / original;
  const double magnitude =
      stretch <= 1 ? 1.0 : std::sqrt(1 + std::log(stretch) / std::log(original));
  config.rope_magnitude = static_cast<float>(scaling.attention_factor.value_or(magnitude));
  return check_factor("attention factor", double{config.rope_magnitude});
}

}  // namespace

Result<RopeScalingKind> rope_scaling_kind(std::string_view name, std::string_view where) {
  constexpr std::pair<std::string_view, RopeScalingKind> kKinds[] = {
      {"none", RopeScalingKind::kNone},     {"default", RopeScalingKind::kNone},
      {"linear", RopeScalingKind::kLinear}, {"llama3", RopeScalingKind::kLlama3},
      {"yarn", RopeScalingKind::kYarn},     {"longrope", RopeScalingKind::kLongRope},
      {"su", RopeScalingKind::kLongRope},
  };
  for (const auto& [known, kind] : kKinds) {
    if (name == known) return kind;
  }
  return unimplemented(fmt::format(
      "{}: \"{}\" is not supported; default, linear, llama3, yarn and longrope are", where, name));
}

Status apply_rope_scaling(const RopeScaling& scaling, LlamaConfig& config) {
  if (scaling.kind == RopeScalingKind::kNone) return ok_status();
  if (scaling.kind != RopeScalingKind::kLongRope) {
    TRY_OK(check_factor("factor", scaling.factor));
  }
  config.rope_original_context = scaling.original_context;
  switch (scaling.kind) {
    case RopeScalingKind::kNone: return ok_status();
    case RopeScalingKind::kLinear:
      config.rope_divisors.assign(static_cast<std::size_t>(config.rope_dims / 2), scaling.factor);
      return ok_status();
    case RopeScalingKind::kLlama3:
      TRY_OK(check_original(scaling));
      config.rope_divisors = llama3_divisors(scaling, config);
      return ok_status();
    case RopeScalingKind::kYarn: return apply_yarn(scaling, config);
    case RopeScalingKind::kLongRope: return apply_longrope(scaling, config);
  }
  return ok_status();
}

RopeTable rope_table(const LlamaConfig& config, bool windowed, std::int32_t context) {
  const double base = double{windowed ? config.rope_base_windowed : config.rope_base};
  const bool is_long = !config.rope_divisors_long.empty() && context > config.rope_original_context;
  const auto& divisors = is_long ? config.rope_divisors_long : config.rope_divisors;
  RopeTable table;
  table.frequencies.resize(static_cast<std::size_t>(config.rope_dims / 2));
  for (std::size_t i = 0; i < table.frequencies.size(); ++i) {
    double& frequency = table.frequencies[i];
    frequency = std::pow(base, -static_cast<double>(2 * i) / config.rope_dims);
    if (!windowed && !divisors.empty()) frequency /= divisors[i];
  }
  if (!windowed) table.magnitude = config.rope_magnitude;
  return table;
}

float query_factor(const LlamaConfig& config, std::int32_t position) {
  if (config.query_growth == 0 || config.rope_original_context == 0) return 1;
  const int spans = position / config.rope_original_context;
  return static_cast<float>(1 + double{config.query_growth} * std::log1p(spans));
}

}  // namespace kantha::model
