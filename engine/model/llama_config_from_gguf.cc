#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "engine/model/llama_from_gguf.h"
#include "engine/model/model_limits.h"
#include "engine/model/rope_scaling.h"

namespace kantha::model {
namespace {

/// Every key of an architecture that this file reads, or that says nothing about the arithmetic.
constexpr auto kKnownKeys = std::to_array<std::string_view>({
    "attention.causal",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.layer_norm_rms_epsilon",
    "attention.value_length",
    "block_count",
    "context_length",
    "embedding_length",
    "expert_count",
    "expert_used_count",
    "feed_forward_length",
    "rope.dimension_count",
    "rope.freq_base",
    "rope.scale_linear",
    "rope.scaling.attn_factor",
    "rope.scaling.factor",
    "rope.scaling.finetuned",
    "rope.scaling.original_context_length",
    "rope.scaling.type",
    "rope.scaling.yarn_attn_factor",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
    "rope.scaling.yarn_log_multiplier",
    "tensor_data_layout",
    "vocab_size",
});
constexpr auto kWindowKeys = std::to_array<std::string_view>(
    {"attention.sliding_window", "attention.sliding_window_pattern", "rope.freq_base_swa"});
constexpr auto kCapKeys =
    std::to_array<std::string_view>({"attn_logit_softcapping", "final_logit_softcapping"});
constexpr auto kMultiplierKeys = std::to_array<std::string_view>(
    {"attention.scale", "embedding_scale", "logit_scale", "residual_scale"});
constexpr auto kTemperatureKeys = std::to_array<std::string_view>(
    {"attention.temperature_scale", "attention.temperature_length"});

bool has(std::span<const std::string_view> list, std::string_view key) {
  return std::ranges::find(list, key) != list.end();
}

bool is_known(const ArchitectureTraits& traits, std::string_view key) {
  return has(kKnownKeys, key) || (traits.window != WindowRule::kNone && has(kWindowKeys, key)) ||
         (traits.has_caps && has(kCapKeys, key)) ||
         (traits.has_multipliers && has(kMultiplierKeys, key)) ||
         (traits.name == "mistral3" && has(kTemperatureKeys, key));
}

/// Reads one architecture's keys into a config, in the order of read().
class KeyReader {
 public:
  KeyReader(const GgufMetadata& metadata, const ArchitectureTraits& traits)
      : metadata_(metadata), traits_(traits) {}

  Result<LlamaConfig> read() {
    TRY_OK(check_plain());
    config_.rope_pairs = traits_.gguf_pairs;
    TRY(config_.layers, required("block_count", kLayersMax));
    TRY(config_.width, required("embedding_length", kWidthMax));
    TRY(config_.ffn_width, required("feed_forward_length", kFfnWidthMax));
    TRY(config_.context, required("context_length", kContextMax));
    set_by_architecture(traits_, config_);
    TRY_OK(read_heads());
    TRY_OK(read_rope());
    TRY_OK(read_scaling());
    TRY_OK(read_window());
    TRY_OK(read_factors());
    TRY_OK(read_vocabulary_size());
    TRY(const auto epsilon, real("attention.layer_norm_rms_epsilon", 1e-12, 0.1));
    if (!epsilon) return missing("attention.layer_norm_rms_epsilon");
    config_.norm_epsilon = static_cast<float>(*epsilon);
    return config_;
  }

 private:
  std::string key(std::string_view end) const { return fmt::format("{}.{}", traits_.name, end); }
  Error missing(std::string_view end) const {
    return data_loss(fmt::format("{}: this key is missing", key(end)));
  }

  Result<std::int32_t> required(std::string_view end, std::int64_t high) const {
    TRY(const auto value, metadata_.integer(key(end), 1, high));
    if (!value) return missing(end);
    return static_cast<std::int32_t>(*value);
  }
  Result<std::int32_t> with_default(std::string_view end, std::int64_t low, std::int64_t high,
                                    std::int32_t otherwise) const {
    TRY(const auto value, metadata_.integer(key(end), low, high));
    return value ? static_cast<std::int32_t>(*value) : otherwise;
  }
  Result<std::optional<double>> real(std::string_view end, double low, double high) const {
    TRY(const auto value, metadata_.real(key(end)));
    if (value && (*value < low || *value > high)) {
      return data_loss(
          fmt::format("{}: expected a number in [{}, {}], got {}", key(end), low, high, *value));
    }
    return value;
  }

  Status check_plain() const;
  Status read_heads();
  Status read_rope();
  Status read_scaling();
  Status read_yarn(RopeScaling& scaling) const;
  Status read_window();
  Status read_pattern();
  Status read_factors();
  Status read_multipliers();
  Status read_vocabulary_size();

  const GgufMetadata& metadata_;
  const ArchitectureTraits& traits_;
  LlamaConfig config_;
};

/// Refuses what would change the arithmetic.
Status KeyReader::check_plain() const {
  TRY(const auto experts,
      metadata_.integer(key("expert_count"), 0, std::numeric_limits<std::int64_t>::max()));
  if (experts.value_or(0) != 0) {
    return unimplemented(
        fmt::format("{}: {} experts are not supported", key("expert_count"), *experts));
  }
  TRY(const auto causal, metadata_.flag(key("attention.causal")));
  if (!causal.value_or(true)) {
    return unimplemented(
        fmt::format("{}: attention that is not causal is not supported", key("attention.causal")));
  }
  const std::string prefix = key("");
  for (const auto& [name, value] : metadata_.values()) {
    if (!name.starts_with(prefix)) continue;
    if (!is_known(traits_, name.substr(prefix.size()))) {
      return unimplemented(fmt::format("{}: this key is not known to us", quote(name)));
    }
  }
  return ok_status();
}

/// heads, kv_heads, head_size.
Status KeyReader::read_heads() {
  TRY(config_.heads, required("attention.head_count", kHeadsMax));
  TRY(config_.kv_heads, with_default("attention.head_count_kv", 1, kHeadsMax, config_.heads));
  if (config_.heads % config_.kv_heads != 0) {
    return data_loss(fmt::format("{}: {} does not divide the {} heads",
                                 key("attention.head_count_kv"), config_.kv_heads, config_.heads));
  }
  const std::string length = key("attention.key_length");
  if (metadata_.find(length) == nullptr && config_.width % config_.heads != 0) {
    return data_loss(fmt::format("{}: {} does not divide the width {}", key("attention.head_count"),
                                 config_.heads, config_.width));
  }
  TRY(config_.head_size,
      with_default("attention.key_length", 1, kHeadSizeMax, config_.width / config_.heads));
  if (config_.head_size < 2 || config_.head_size > kHeadSizeMax || config_.head_size % 2 != 0) {
    return data_loss(fmt::format("head size: expected an even number in [2, {}], got {}",
                                 kHeadSizeMax, config_.head_size));
  }
  TRY(const auto value_size,
      with_default("attention.value_length", 1, std::numeric_limits<std::int32_t>::max(),
                   config_.head_size));
  if (value_size != config_.head_size) {
    return unimplemented(
        fmt::format("{}: {} differs from the key length {}, which is not supported",
                    key("attention.value_length"), value_size, config_.head_size));
  }
  return ok_status();
}

Status KeyReader::read_rope() {
  TRY(config_.rope_dims,
      with_default("rope.dimension_count", 1, config_.head_size, config_.head_size));
  if (config_.rope_dims % 2 != 0) {
    return data_loss(fmt::format("{}: expected an even number, got {}", key("rope.dimension_count"),
                                 config_.rope_dims));
  }
  TRY(const auto base, real("rope.freq_base", 1, kRopeBaseMax));
  config_.rope_base = static_cast<float>(base.value_or(10000.0));
  return ok_status();
}

/// A factor of 0 is how converters spell "not set"; one without a type is linear.
Status KeyReader::read_scaling() {
  RopeScaling scaling;
  TRY(auto factor, metadata_.real(key("rope.scaling.factor")));
  if (!factor) {
    TRY(factor, metadata_.real(key("rope.scale_linear")));
  }
  const bool has_factor = factor.value_or(0) != 0 && *factor != 1;
  if (has_factor) scaling.factor = *factor;
  TRY(const auto type, metadata_.text(key("rope.scaling.type")));
  if (type) {
    TRY(scaling.kind, rope_scaling_kind(*type, key("rope.scaling.type")));
  } else if (has_factor) {
    scaling.kind = RopeScalingKind::kLinear;
  }
  TRY(scaling.original_context,
      with_default("rope.scaling.original_context_length", 0, kContextMax, config_.context));
  if (scaling.kind == RopeScalingKind::kYarn) {
    TRY_OK(read_yarn(scaling));
  }
  // Longrope's factors are tensors, and so are llama 3's: llama_from_gguf reads them.
  if (scaling.kind == RopeScalingKind::kLongRope || scaling.kind == RopeScalingKind::kLlama3) {
    return ok_status();
  }
  TRY_OK(apply_rope_scaling(scaling, config_));
  if (scaling.kind != RopeScalingKind::kYarn) {
    TRY(const auto magnitude, real("rope.scaling.attn_factor", 1e-3, 1e3));
    config_.rope_magnitude = static_cast<float>(magnitude.value_or(1));
  }
  if (traits_.name != "mistral3") return ok_status();
  TRY(const auto growth, real("attention.temperature_scale", 0, 1e3));
  config_.query_growth = static_cast<float>(growth.value_or(0));
  config_.rope_original_context = scaling.original_context;
  return ok_status();
}

Status KeyReader::read_yarn(RopeScaling& scaling) const {
  TRY(const auto fast, real("rope.scaling.yarn_beta_fast", 0, 1e6));
  TRY(const auto slow, real("rope.scaling.yarn_beta_slow", 0, 1e6));
  TRY(const auto explicit_factor, real("rope.scaling.yarn_attn_factor", 0, 1e6));
  TRY(const auto log_multiplier, real("rope.scaling.yarn_log_multiplier", 0, 1e3));
  TRY(const auto extra, real("rope.scaling.attn_factor", 0, 1e6));
  if (fast) scaling.beta_fast = *fast;
  if (slow) scaling.beta_slow = *slow;
  if (log_multiplier.value_or(0) != 0) {
    scaling.mscale = 1;
    scaling.mscale_all_dim = *log_multiplier;
  }
  scaling.attention_factor = explicit_factor;
  if (extra && *extra != 1) {
    return unimplemented(fmt::format("{}: a factor (here {}) on top of yarn's is not supported",
                                     key("rope.scaling.attn_factor"), *extra));
  }
  return ok_status();
}

Status KeyReader::read_window() {
  if (traits_.window == WindowRule::kNone) return ok_status();
  TRY(config_.sliding_window,
      with_default("attention.sliding_window", 0, kContextMax, traits_.window_default));
  if (config_.sliding_window == 0) return ok_status();
  if (traits_.window == WindowRule::kFromLayer) {
    return unimplemented(
        fmt::format("{}: does not say from which layer on", key("attention.sliding_window")));
  }
  config_.windowed = windowed_layers(traits_, config_.layers);
  TRY_OK(read_pattern());
  TRY(const auto base, real("rope.freq_base_swa", 1, kRopeBaseMax));
  config_.rope_base_windowed = static_cast<float>(base.value_or(double{traits_.windowed_base}));
  return ok_status();
}

/// A period, or an array of bools.
Status KeyReader::read_pattern() {
  const std::string name = key("attention.sliding_window_pattern");
  const GgufValue* value = metadata_.find(name);
  if (value == nullptr) return ok_status();
  if (value->type != GgufType::kArray) {
    TRY(const auto period, metadata_.integer(name, 1, kLayersMax));
    ArchitectureTraits traits = traits_;
    traits.window = WindowRule::kAllButEachNth;
    traits.window_period = static_cast<std::int32_t>(*period);
    config_.windowed = windowed_layers(traits, config_.layers);
    return ok_status();
  }
  if (value->element != GgufType::kBool || std::cmp_not_equal(value->count, config_.layers)) {
    return data_loss(fmt::format("{}: expected {} bools, one a layer", name, config_.layers));
  }
  config_.windowed.clear();
  for (const std::byte flag : value->raw) {
    config_.windowed.push_back(flag == std::byte{0} ? 0 : 1);
  }
  return ok_status();
}

/// Scales and caps.
Status KeyReader::read_factors() {
  if (traits_.odd_scale_layers == config_.layers) {
    config_.attention_scale =
        static_cast<float>(1 / std::sqrt(static_cast<double>(config_.width / config_.heads)));
  }
  if (traits_.has_caps) {
    TRY(const auto attention, real("attn_logit_softcapping", 0, 1e6));
    TRY(const auto logits, real("final_logit_softcapping", 0, 1e6));
    if (attention) config_.attention_cap = static_cast<float>(*attention);
    if (logits) config_.logit_cap = static_cast<float>(*logits);
  }
  return traits_.has_multipliers ? read_multipliers() : ok_status();
}

Status KeyReader::read_multipliers() {
  TRY(const auto attention, real("attention.scale", 0, 1e6));
  TRY(const auto embedding, real("embedding_scale", 0, 1e6));
  TRY(const auto residual, real("residual_scale", 0, 1e6));
  TRY(const auto logits, real("logit_scale", 1e-6, 1e6));
  config_.attention_scale = static_cast<float>(attention.value_or(0));
  // As with rope factors, 0 is "not set".
  if (embedding.value_or(0) != 0) config_.embedding_scale = static_cast<float>(*embedding);
  if (residual.value_or(0) != 0) config_.residual_scale = static_cast<float>(*residual);
  if (logits) config_.logit_scale = static_cast<float>(1 / *logits);
  return ok_status();
}

Status KeyReader::read_vocabulary_size() {
  constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
  TRY(const auto tokens, metadata_.texts(kTokens));
  const auto count = static_cast<std::int64_t>(tokens.size());
  if (count < 1 || count > kVocabularyMax) {
    return data_loss(
        fmt::format("{}: expected 1 to {} tokens, got {}", kTokens, kVocabularyMax, count));
  }
  config_.vocabulary = static_cast<std::int32_t>(count);
  TRY(const auto size, with_default("vocab_size", 1, kVocabularyMax, config_.vocabulary));
  if (size != config_.vocabulary) {
    return data_loss(fmt::format("{}: {} differs from the {} tokens of {}", key("vocab_size"), size,
                                 config_.vocabulary, kTokens));
  }
  return ok_status();
}

}  // namespace

Result<const ArchitectureTraits*> architecture_of_gguf(const GgufMetadata& metadata) {
  TRY(const auto name, metadata.text("general.architecture"));
  if (!name) return data_loss("general.architecture: this key is missing");
  const ArchitectureTraits* traits = architecture_named(*name);
  if (traits == nullptr) {
    return unimplemented(fmt::format("general.architecture: {} is not supported; {} are",
                                     quote(*name), architecture_names()));
  }
  return traits;
}

Result<LlamaConfig> llama_config_from_gguf(const GgufMetadata& metadata) {
  TRY(const auto traits, architecture_of_gguf(metadata));
  TRY(const auto splits,
      metadata.integer("split.count", 0, std::numeric_limits<std::int64_t>::max()));
  if (splits.value_or(0) > 1) {
    return unimplemented(
        fmt::format("split.count: a model split over {} files is not supported", *splits));
  }
  return KeyReader(metadata, *traits).read();
}

}  // namespace kantha::model
