#pragma once

#include <cstdint>
#include <vector>

#include "engine/cache/kv_options.h"
#include "engine/model/llama_model.h"

/// Which layers share a KV block.
namespace kantha::exec {

/// Where a layer's keys and values of a token lie.
struct LayerPlace {
  std::int32_t group = 0;  ///< whose blocks
  std::int32_t index = 0;  ///< which of the block's layers, below layers_per_block
};

/// A block holds block_size tokens of the layers of one group. All blocks are of one size, so that
/// any block serves any group: layers with a window and layers without are dealt out in groups of
/// equal size, as far as their numbers and kGroupsMax allow; the last group of a kind may leave
/// layers of its blocks unused.
struct KvLayout {
  std::vector<cache::KvGroup> groups;  ///< those without a window first
  std::vector<LayerPlace> layers;      ///< [layers of the model]
  std::int32_t layers_per_block = 0;

  /// CHECKs that config.windowed is empty or has every layer.
  explicit KvLayout(const model::LlamaConfig& config);
};

}  // namespace kantha::exec
