#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/model/llama_model.h"

/// Stretching rotary positions beyond the trained context, whichever way a file spells it.
/// Source: transformers' modeling_rope_utils (the reference that the golden files come from);
/// Peng et al., "YaRN", 2023; Ding et al., "LongRoPE", 2024.
namespace kantha::model {

enum class RopeScalingKind : std::uint8_t { kNone, kLinear, kLlama3, kYarn, kLongRope };

/// What a file says. Each kind reads only its own fields.
struct RopeScaling {
  RopeScalingKind kind = RopeScalingKind::kNone;
  double factor = 1;
  std::int32_t original_context = 0;
  std::optional<double> attention_factor = {};  ///< yarn, longrope: replaces the computed one
  double low_frequency_factor = 1;              ///< llama3
  double high_frequency_factor = 4;             ///< llama3
  double beta_fast = 32;                        ///< yarn
  double beta_slow = 1;                         ///< yarn
  double mscale = 0;                            ///< yarn; counts only together with the next
  double mscale_all_dim = 0;                    ///< yarn
  bool truncate = true;                         ///< yarn: whole dimensions at the ramp's ends
  std::vector<double> short_factors = {};       ///< longrope [rope_dims / 2]
  std::vector<double> long_factors = {};        ///< longrope [rope_dims / 2]
};

/// The kind of a name: "none", "default", "linear", "llama3", "yarn", "longrope", "su".
/// kUnimplemented for another ("dynamic" changes all earlier keys as a sequence grows, which a
/// paged cache cannot follow). `where` names the field.
Result<RopeScalingKind> rope_scaling_kind(std::string_view name, std::string_view where);

/// Writes the scaling into config's rope_divisors, rope_divisors_long, rope_magnitude and
/// rope_original_context; rope_base, rope_dims and context must be set. kDataLoss names the value
/// that is absurd.
Status apply_rope_scaling(const RopeScaling& scaling, LlamaConfig& config);

/// How the heads of some layers turn.
struct RopeTable {
  std::vector<double> frequencies;  ///< [rope_dims / 2] radians per position
  float magnitude = 1;
};

/// Of the layers with a window (has_windowed_base) or of the others, where up to `context`
/// positions are served.
RopeTable rope_table(const LlamaConfig& config, bool windowed, std::int32_t context);

/// The factor on the queries at a position (LlamaConfig::query_growth).
float query_factor(const LlamaConfig& config, std::int32_t position);

}  // namespace kantha::model
