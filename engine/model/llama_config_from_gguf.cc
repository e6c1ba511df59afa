#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "engine/model/llama_from_gguf.h"

namespace kantha::model {
namespace {

constexpr std::int64_t kLayersMax = 1024;
constexpr std::int64_t kWidthMax = 1 << 16;
constexpr std::int64_t kHeadsMax = 1024;
constexpr std::int64_t kHeadSizeMax = 512;
constexpr std::int64_t kFfnWidthMax = 1 << 18;
constexpr std::int64_t kVocabularyMax = 1 << 20;
constexpr std::int64_t kContextMax = 1 << 24;
constexpr double kRopeBaseMax = 1e12;
constexpr std::string_view kScalingPrefix = "llama.rope.scaling.";

/// Every llama.* key that this file reads, or that says nothing about the arithmetic.
constexpr auto kKnownKeys = std::to_array<std::string_view>({
    "llama.attention.causal",
    "llama.attention.head_count",
    "llama.attention.head_count_kv",
    "llama.attention.key_length",
    "llama.attention.layer_norm_rms_epsilon",
    "llama.attention.value_length",
    "llama.block_count",
    "llama.context_length",
    "llama.embedding_length",
    "llama.expert_count",
    "llama.expert_used_count",
    "llama.feed_forward_length",
    "llama.rope.dimension_count",
    "llama.rope.freq_base",
    "llama.rope.scale_linear",
    "llama.tensor_data_layout",
    "llama.vocab_size",
});

Result<std::int32_t> required(const GgufMetadata& metadata, std::string_view key,
                              std::int64_t high) {
  TRY(const auto value, metadata.integer(key, 1, high));
  if (!value) return data_loss(fmt::format("{}: this key is missing", key));
  return static_cast<std::int32_t>(*value);
}

Result<std::int32_t> with_default(const GgufMetadata& metadata, std::string_view key,
                                  std::int64_t high, std::int32_t otherwise) {
  TRY(const auto value, metadata.integer(key, 1, high));
  return value ? static_cast<std::int32_t>(*value) : otherwise;
}

Status check_architecture(const GgufMetadata& metadata) {
  TRY(const auto name, metadata.text("general.architecture"));
  if (!name) return data_loss("general.architecture: this key is missing");
  if (*name != "llama") {
    return unimplemented(
        fmt::format("general.architecture: {} is not supported, \"llama\" is", quote(*name)));
  }
  TRY(const auto splits,
      metadata.integer("split.count", 0, std::numeric_limits<std::int64_t>::max()));
  if (splits.value_or(0) > 1) {
    return unimplemented(
        fmt::format("split.count: a model split over {} files is not supported", *splits));
  }
  return ok_status();
}

/// A scale of 0 is how converters spell "not set".
Status check_no_scale(const GgufMetadata& metadata, std::string_view key) {
  TRY(const auto scale, metadata.real(key));
  if (scale && *scale != 1.0 && *scale != 0.0) {
    return unimplemented(fmt::format("{}: rope scaling (here {}) is not supported", key, *scale));
  }
  return ok_status();
}

Status check_rope_scaling(const GgufMetadata& metadata) {
  TRY(const auto type, metadata.text("llama.rope.scaling.type"));
  if (type && *type != "none") {
    return unimplemented(
        fmt::format("llama.rope.scaling.type: {} is not supported, \"none\" is", quote(*type)));
  }
  TRY_OK(check_no_scale(metadata, "llama.rope.scale_linear"));
  if (type) return ok_status();  // "none": the other scaling keys mean nothing
  TRY_OK(check_no_scale(metadata, "llama.rope.scaling.factor"));
  for (const auto& [key, value] : metadata.values()) {
    if (key.starts_with(kScalingPrefix) && key != "llama.rope.scaling.factor") {
      return unimplemented(fmt::format("{}: rope scaling is not supported", key));
    }
  }
  return ok_status();
}

/// Refuses what would change the arithmetic.
Status check_plain_llama(const GgufMetadata& metadata) {
  TRY_OK(check_rope_scaling(metadata));
  TRY(const auto experts,
      metadata.integer("llama.expert_count", 0, std::numeric_limits<std::int64_t>::max()));
  if (experts.value_or(0) != 0) {
    return unimplemented(fmt::format("llama.expert_count: {} experts are not supported", *experts));
  }
  TRY(const auto causal, metadata.flag("llama.attention.causal"));
  if (!causal.value_or(true)) {
    return unimplemented("llama.attention.causal: attention that is not causal is not supported");
  }
  for (const auto& [key, value] : metadata.values()) {
    if (!key.starts_with("llama.") || key.starts_with(kScalingPrefix)) continue;
    if (std::ranges::find(kKnownKeys, key) == kKnownKeys.end()) {
      return unimplemented(fmt::format("{}: this key is not known to us", quote(key)));
    }
  }
  return ok_status();
}

/// heads, kv_heads, head_size.
Status read_heads(const GgufMetadata& metadata, LlamaConfig& config) {
  TRY(config.heads, required(metadata, "llama.attention.head_count", kHeadsMax));
  TRY(config.kv_heads,
      with_default(metadata, "llama.attention.head_count_kv", kHeadsMax, config.heads));
  if (config.heads % config.kv_heads != 0) {
    return data_loss(fmt::format("llama.attention.head_count_kv: {} does not divide the {} heads",
                                 config.kv_heads, config.heads));
  }
  const std::string_view key = "llama.attention.key_length";
  if (metadata.find(key) == nullptr && config.width % config.heads != 0) {
    return data_loss(fmt::format("llama.attention.head_count: {} does not divide the width {}",
                                 config.heads, config.width));
  }
  TRY(config.head_size, with_default(metadata, key, kHeadSizeMax, config.width / config.heads));
  if (config.head_size < 2 || config.head_size > kHeadSizeMax || config.head_size % 2 != 0) {
    return data_loss(fmt::format("head size: expected an even number in [2, {}], got {}",
                                 kHeadSizeMax, config.head_size));
  }
  TRY(const auto value_size,
      with_default(metadata, "llama.attention.value_length",
                   std::numeric_limits<std::int32_t>::max(), config.head_size));
  if (value_size != config.head_size) {
    return unimplemented(
        fmt::format("llama.attention.value_length: {} differs from the key length {}, "
                    "which is not supported",
                    value_size, config.head_size));
  }
  return ok_status();
}

Status read_rope(const GgufMetadata& metadata, LlamaConfig& config) {
  constexpr std::string_view kDims = "llama.rope.dimension_count";
  TRY(config.rope_dims, with_default(metadata, kDims, config.head_size, config.head_size));
  if (config.rope_dims % 2 != 0) {
    return data_loss(fmt::format("{}: expected an even number, got {}", kDims, config.rope_dims));
  }
  TRY(const auto base, metadata.real("llama.rope.freq_base"));
  config.rope_base = static_cast<float>(base.value_or(10000.0));
  if (!(config.rope_base >= 1.0F) || config.rope_base > kRopeBaseMax) {
    return data_loss(fmt::format("llama.rope.freq_base: expected a number in [1, {}], got {}",
                                 kRopeBaseMax, config.rope_base));
  }
  return ok_status();
}

Status read_vocabulary_size(const GgufMetadata& metadata, LlamaConfig& config) {
  constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
  TRY(const auto tokens, metadata.texts(kTokens));
  const auto count = static_cast<std::int64_t>(tokens.size());
  if (count < 1 || count > kVocabularyMax) {
    return data_loss(
        fmt::format("{}: expected 1 to {} tokens, got {}", kTokens, kVocabularyMax, count));
  }
  config.vocabulary = static_cast<std::int32_t>(count);
  TRY(const auto size,
      with_default(metadata, "llama.vocab_size", kVocabularyMax, config.vocabulary));
  if (size != config.vocabulary) {
    return data_loss(fmt::format("llama.vocab_size: {} differs from the {} tokens of {}", size,
                                 config.vocabulary, kTokens));
  }
  return ok_status();
}

}  // namespace

Result<LlamaConfig> llama_config_from_gguf(const GgufMetadata& metadata) {
  TRY_OK(check_architecture(metadata));
  TRY_OK(check_plain_llama(metadata));
  LlamaConfig config;
  TRY(config.layers, required(metadata, "llama.block_count", kLayersMax));
  TRY(config.width, required(metadata, "llama.embedding_length", kWidthMax));
  TRY(config.ffn_width, required(metadata, "llama.feed_forward_length", kFfnWidthMax));
  TRY(config.context, required(metadata, "llama.context_length", kContextMax));
  TRY_OK(read_heads(metadata, config));
  TRY_OK(read_rope(metadata, config));
  TRY_OK(read_vocabulary_size(metadata, config));

  constexpr std::string_view kEpsilon = "llama.attention.layer_norm_rms_epsilon";
  TRY(const auto epsilon, metadata.real(kEpsilon));
  if (!epsilon) return data_loss(fmt::format("{}: this key is missing", kEpsilon));
  if (*epsilon < 1e-12 || *epsilon > 0.1) {
    return data_loss(
        fmt::format("{}: expected a number in [1e-12, 0.1], got {}", kEpsilon, *epsilon));
  }
  config.norm_epsilon = static_cast<float>(*epsilon);
  return config;
}

}  // namespace kantha::model
