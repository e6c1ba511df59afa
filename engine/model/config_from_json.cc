#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "base/json_fields.h"
#include "engine/model/byte_cursor.h"
#include "engine/model/llama_from_folder.h"
#include "engine/model/model_limits.h"
#include "engine/model/rope_scaling.h"

namespace kantha::model {
namespace {

constexpr std::size_t kFactorsMax = kHeadSizeMax;

/// Reads one config.json into a config, in the order of read().
class ConfigReader {
 public:
  ConfigReader(const Json& json, const ArchitectureTraits& traits)
      : json_(json), fields_(json, ""), traits_(traits) {}

  Result<FolderConfig> read() {
    TRY_OK(check_plain());
    config_.rope_pairs = RopePairs::kHalves;
    TRY(config_.layers, required("num_hidden_layers", kLayersMax));
    TRY(config_.width, required("hidden_size", kWidthMax));
    TRY(config_.ffn_width, required("intermediate_size", kFfnWidthMax));
    TRY(config_.vocabulary, required("vocab_size", kVocabularyMax));
    TRY(config_.context, required("max_position_embeddings", kContextMax));
    set_by_architecture(traits_, config_);
    TRY_OK(read_heads());
    TRY_OK(read_activation());
    TRY_OK(read_windows());
    TRY_OK(read_rotations());
    TRY_OK(read_rope());
    TRY_OK(read_factors());
    TRY(const auto epsilon, fields_.number("rms_norm_eps", 1e-12, 0.1));
    if (!epsilon) return missing("rms_norm_eps");
    config_.norm_epsilon = static_cast<float>(*epsilon);
    TRY(const auto is_tied, fields_.boolean("tie_word_embeddings"));
    return FolderConfig{&traits_, config_, is_tied};
  }

 private:
  static Error missing(std::string_view name) {
    return data_loss(fmt::format("{}: this field is missing", name));
  }
  Result<std::int32_t> required(std::string_view name, std::int64_t high) const {
    TRY(const auto value, fields_.integer(name, 1, high));
    if (!value) return missing(name);
    return static_cast<std::int32_t>(*value);
  }

  Status check_plain() const;
  Status read_heads();
  Status read_activation();
  Status read_windows();
  Status read_layer_types(const Json& types);
  Status read_rotations();
  Status read_rope();
  Result<RopeScaling> read_scaling(const JsonFields& rope) const;
  Status read_factors();
  Status read_multipliers();

  const Json& json_;
  JsonFields fields_;
  const ArchitectureTraits& traits_;
  LlamaConfig config_;
};

/// Refuses what would change the arithmetic.
Status ConfigReader::check_plain() const {
  TRY(const auto quantisation, fields_.object("quantization_config"));
  if (quantisation) {
    TRY(const auto method, quantisation->string("quant_method"));
    return unimplemented(
        fmt::format("quantization_config: {} is not supported; F32, F16 and BF16 weights are",
                    quote(method.value_or("this"))));
  }
  for (const char* name : {"mlp_bias", "use_bidirectional_attention"}) {
    TRY(const auto flag, fields_.boolean(name));
    if (flag.value_or(false)) return unimplemented(fmt::format("{}: true is not supported", name));
  }
  TRY(const auto bias, fields_.boolean("attention_bias"));
  if (bias.value_or(false) && traits_.qkv_bias == Bias::kNone) {
    return unimplemented(fmt::format("attention_bias: true is not supported in {}", traits_.name));
  }
  return ok_status();
}

/// heads, kv_heads, head_size.
Status ConfigReader::read_heads() {
  TRY(config_.heads, required("num_attention_heads", kHeadsMax));
  TRY(const auto kv_heads, fields_.integer("num_key_value_heads", 1, kHeadsMax));
  config_.kv_heads = static_cast<std::int32_t>(kv_heads.value_or(config_.heads));
  if (config_.heads % config_.kv_heads != 0) {
    return data_loss(fmt::format("num_key_value_heads: {} does not divide the {} heads",
                                 config_.kv_heads, config_.heads));
  }
  TRY(const auto head_size, fields_.integer("head_dim", 2, kHeadSizeMax));
  if (!head_size && traits_.hf_head_size == 0 && config_.width % config_.heads != 0) {
    return data_loss(fmt::format("num_attention_heads: {} does not divide the hidden_size {}",
                                 config_.heads, config_.width));
  }
  const std::int64_t otherwise =
      traits_.hf_head_size != 0 ? traits_.hf_head_size : config_.width / config_.heads;
  config_.head_size = static_cast<std::int32_t>(head_size.value_or(otherwise));
  if (config_.head_size < 2 || config_.head_size > kHeadSizeMax || config_.head_size % 2 != 0) {
    return data_loss(fmt::format("head_dim: expected an even number in [2, {}], got {}",
                                 kHeadSizeMax, config_.head_size));
  }
  return ok_status();
}

Status ConfigReader::read_activation() {
  constexpr std::pair<std::string_view, GateActivation> kKnown[] = {
      {"silu", GateActivation::kSilu},
      {"swish", GateActivation::kSilu},
      {"gelu_pytorch_tanh", GateActivation::kGeluTanh},
  };
  const bool has_new = fields_.find("hidden_activation") != nullptr;
  const char* field = has_new ? "hidden_activation" : "hidden_act";
  TRY(const auto name, fields_.string(field));
  if (!name) return ok_status();
  for (const auto& [known, activation] : kKnown) {
    if (*name != known) continue;
    config_.gate = activation;
    return ok_status();
  }
  return unimplemented(
      fmt::format("{}: {} is not supported; silu and gelu_pytorch_tanh are", field, quote(*name)));
}

Status ConfigReader::read_windows() {
  TRY(const auto window, fields_.integer("sliding_window", 0, kContextMax));
  TRY(const auto use, fields_.boolean("use_sliding_window"));
  const bool needs_leave = traits_.window == WindowRule::kFromLayer;
  const auto size = static_cast<std::int32_t>(window.value_or(0));
  if (size == 0 || !use.value_or(!needs_leave)) return ok_status();
  if (traits_.window == WindowRule::kNone) {
    if (!use.value_or(false)) return ok_status();  // transformers ignores the number, too
    return unimplemented(fmt::format("use_sliding_window: not supported in {}", traits_.name));
  }
  config_.sliding_window = size;
  TRY(const Json* types, fields_.array("layer_types", kLayersMax));
  if (types != nullptr) return read_layer_types(*types);
  if (traits_.window == WindowRule::kFromLayer) {
    TRY(const auto first, fields_.integer("max_window_layers", 0, kLayersMax));
    for (std::int32_t i = 0; i < config_.layers; ++i) {
      config_.windowed.push_back(i >= first.value_or(28) ? 1 : 0);
    }
    return ok_status();
  }
  ArchitectureTraits traits = traits_;
  TRY(const auto period, fields_.integer("sliding_window_pattern", 1, kLayersMax));
  if (period && traits.window == WindowRule::kAllButEachNth) {
    traits.window_period = static_cast<std::int32_t>(*period);
  }
  config_.windowed = windowed_layers(traits, config_.layers);
  return ok_status();
}

Status ConfigReader::read_layer_types(const Json& types) {
  if (std::cmp_not_equal(types.size(), config_.layers)) {
    return data_loss(fmt::format("layer_types: expected {} entries, one a layer, got {}",
                                 config_.layers, types.size()));
  }
  for (const Json& type : types) {
    if (type != "sliding_attention" && type != "full_attention") {
      return unimplemented(
          fmt::format("layer_types: {} is not supported; full_attention and sliding_attention are",
                      quote(type.dump())));
    }
    config_.windowed.push_back(type == "sliding_attention" ? 1 : 0);
  }
  return ok_status();
}

/// Which layers do not rotate (SmolLM3).
Status ConfigReader::read_rotations() {
  if (traits_.unrotated_period == 0) return ok_status();
  TRY(const auto period, fields_.integer("no_rope_layer_interval", 1, kLayersMax));
  if (period) {
    config_.unrotated = unrotated_layers(static_cast<std::int32_t>(*period), config_.layers);
  }
  TRY(const Json* marks, fields_.array("no_rope_layers", kLayersMax));
  if (marks == nullptr) return ok_status();
  if (std::cmp_less(marks->size(), config_.layers)) {
    return data_loss(
        fmt::format("no_rope_layers: expected {} entries, got {}", config_.layers, marks->size()));
  }
  for (std::size_t i = 0; i < config_.unrotated.size(); ++i) {
    const Json& mark = (*marks)[i];
    if (mark != 0 && mark != 1) {
      return data_loss(fmt::format("no_rope_layers[{}]: expected 0 or 1", i));
    }
    config_.unrotated[i] = mark == 0 ? 1 : 0;
  }
  return ok_status();
}

/// An object within one that may be absent itself.
Result<std::optional<JsonFields>> nested(const std::optional<JsonFields>& outer,
                                         std::string_view name) {
  if (!outer) return std::optional<JsonFields>();
  return outer->object(name);
}

/// rope_parameters (transformers 5), or rope_theta, rope_scaling and partial_rotary_factor (4).
Status ConfigReader::read_rope() {
  TRY(const auto parameters, fields_.object("rope_parameters"));
  TRY(const auto old_scaling, fields_.object("rope_scaling"));
  TRY(const auto full, nested(parameters, "full_attention"));
  TRY(const auto windowed, nested(parameters, "sliding_attention"));
  const JsonFields& rope = full          ? *full
                           : parameters  ? *parameters
                           : old_scaling ? *old_scaling
                                         : fields_;
  if (windowed) {
    TRY(const auto local, windowed->number("rope_theta", 1, kRopeBaseMax));
    config_.rope_base_windowed = static_cast<float>(local.value_or(double{traits_.windowed_base}));
  }
  TRY(auto base, rope.number("rope_theta", 1, kRopeBaseMax));
  if (!base) {
    TRY(base, fields_.number("rope_theta", 1, kRopeBaseMax));
  }
  config_.rope_base = static_cast<float>(base.value_or(double{traits_.hf_rope_base}));
  TRY(auto part, rope.number("partial_rotary_factor", 0, 1));
  if (!part) {
    TRY(part, fields_.number("partial_rotary_factor", 0, 1));
  }
  config_.rope_dims = static_cast<std::int32_t>(config_.head_size * part.value_or(1));
  if (config_.rope_dims < 2 || config_.rope_dims % 2 != 0) {
    return data_loss(fmt::format("partial_rotary_factor: {} of a head of {} is no even number",
                                 part.value_or(1), config_.head_size));
  }
  if (traits_.windowed_base > 0 && config_.rope_base_windowed == 0) {
    TRY(const auto local, fields_.number("rope_local_base_freq", 1, kRopeBaseMax));
    config_.rope_base_windowed = static_cast<float>(local.value_or(double{traits_.windowed_base}));
  }
  if (config_.sliding_window == 0) config_.rope_base_windowed = 0;
  if (!parameters && !old_scaling) return ok_status();
  TRY(const auto scaling, read_scaling(rope));
  TRY_OK(apply_rope_scaling(scaling, config_));
  TRY(const auto growth, rope.number("llama_4_scaling_beta", 0, 1e3));
  config_.query_growth = static_cast<float>(growth.value_or(0));
  return ok_status();
}

Result<std::vector<double>> factors_of(const JsonFields& rope, std::string_view name) {
  std::vector<double> factors;
  TRY(const Json* list, rope.array(name, kFactorsMax));
  if (list == nullptr) return factors;
  for (const Json& item : *list) {
    if (!item.is_number()) {
      return data_loss(fmt::format("{}: expected numbers only", rope.path_of(name)));
    }
    factors.push_back(item.get<double>());
  }
  return factors;
}

Result<RopeScaling> ConfigReader::read_scaling(const JsonFields& rope) const {
  RopeScaling scaling;
  const char* field = rope.find("rope_type") != nullptr ? "rope_type" : "type";
  TRY(const auto type, rope.string(field));
  TRY(scaling.short_factors, factors_of(rope, "short_factor"));
  TRY(scaling.long_factors, factors_of(rope, "long_factor"));
  if (type) {
    TRY(scaling.kind, rope_scaling_kind(*type, rope.path_of(field)));
  }
  // Early phi 3 folders call their factors yarn.
  if (scaling.kind == RopeScalingKind::kYarn && !scaling.long_factors.empty()) {
    scaling.kind = RopeScalingKind::kLongRope;
  }
  const std::pair<const char*, double*> numbers[] = {
      {"factor", &scaling.factor},
      {"low_freq_factor", &scaling.low_frequency_factor},
      {"high_freq_factor", &scaling.high_frequency_factor},
      {"beta_fast", &scaling.beta_fast},
      {"beta_slow", &scaling.beta_slow},
      {"mscale", &scaling.mscale},
      {"mscale_all_dim", &scaling.mscale_all_dim},
  };
  for (const auto& [name, to] : numbers) {
    TRY(const auto value, rope.number(name, 0, 1e6));
    if (value) *to = *value;
  }
  TRY(scaling.attention_factor, rope.number("attention_factor", 0, 1e6));
  TRY(const auto truncate, rope.boolean("truncate"));
  scaling.truncate = truncate.value_or(true);
  constexpr std::string_view kOriginal = "original_max_position_embeddings";
  TRY(auto original, rope.integer(kOriginal, 1, kContextMax));
  if (!original) {
    TRY(original, fields_.integer(kOriginal, 1, kContextMax));
  }
  scaling.original_context = static_cast<std::int32_t>(original.value_or(config_.context));
  return scaling;
}

/// Scales and caps.
Status ConfigReader::read_factors() {
  TRY(const auto pre, fields_.number("query_pre_attn_scalar", 1e-6, 1e9));
  if (pre) config_.attention_scale = static_cast<float>(1 / std::sqrt(*pre));
  if (traits_.has_caps) {
    const std::pair<const char*, float*> caps[] = {
        {"attn_logit_softcapping", &config_.attention_cap},
        {"final_logit_softcapping", &config_.logit_cap}};
    for (const auto& [name, to] : caps) {
      TRY(const auto value, fields_.number(name, 0, 1e6));
      if (json_.contains(name)) *to = static_cast<float>(value.value_or(0));  // null: no cap
    }
  }
  return traits_.has_multipliers ? read_multipliers() : ok_status();
}

Status ConfigReader::read_multipliers() {
  TRY(const auto attention, fields_.number("attention_multiplier", 1e-9, 1e6));
  TRY(const auto embedding, fields_.number("embedding_multiplier", 1e-9, 1e6));
  TRY(const auto residual, fields_.number("residual_multiplier", 1e-9, 1e6));
  TRY(const auto logits, fields_.number("logits_scaling", 1e-9, 1e6));
  config_.attention_scale = static_cast<float>(attention.value_or(1));
  config_.embedding_scale = static_cast<float>(embedding.value_or(1));
  config_.residual_scale = static_cast<float>(residual.value_or(1));
  config_.logit_scale = static_cast<float>(1 / logits.value_or(1));
  return ok_status();
}

std::string hf_types() {
  std::string names;
  for (const ArchitectureTraits& row : architectures()) {
    names += (names.empty() ? "" : ", ") + std::string(row.hf_type);
  }
  return names;
}

}  // namespace

Result<FolderConfig> config_from_json(const Json& json) {
  const JsonFields fields(json, "");
  TRY_OK(fields.check_object());
  TRY(const auto type, fields.string("model_type"));
  if (!type) return data_loss("model_type: this field is missing");
  const ArchitectureTraits* traits = architecture_of_hf(*type);
  if (traits == nullptr) {
    return unimplemented(
        fmt::format("model_type: {} is not supported; {} are", quote(*type), hf_types()));
  }
  return ConfigReader(json, *traits).read();
}

}  // namespace kantha::model
