#include "engine/exec/kv_layout.h"

#include <algorithm>

#include "base/check.h"

namespace kantha::exec {
namespace {

std::int32_t groups_for(std::int32_t layers, std::int32_t size) {
  return (layers + size - 1) / size;
}

/// Layers per group: as many as the rarer kind has, or more if that made too many groups.
std::int32_t group_size(std::int32_t full, std::int32_t windowed) {
  if (full == 0 || windowed == 0) return std::max(1, full + windowed);
  std::int32_t size = std::min(full, windowed);
  while (groups_for(full, size) + groups_for(windowed, size) > cache::kGroupsMax) ++size;
  return size;
}

}  // namespace

KvLayout::KvLayout(const model::LlamaConfig& config) {
  CHECK(config.windowed.empty() || std::ssize(config.windowed) == config.layers,
        "each layer has a window or not");
  std::int32_t windowed = 0;
  for (std::int32_t i = 0; i < config.layers; ++i) windowed += config.window(i) > 0 ? 1 : 0;
  layers_per_block = group_size(config.layers - windowed, windowed);
  layers.resize(static_cast<std::size_t>(config.layers));
  for (const bool with_window : {false, true}) {
    std::int32_t left = 0;  // places in the group that is being filled
    for (std::int32_t i = 0; i < config.layers; ++i) {
      const std::int32_t window = config.window(i);
      if ((window > 0) != with_window) continue;
      if (left == 0) groups.push_back({.window = window});
      if (left == 0) left = layers_per_block;
      layers[static_cast<std::size_t>(i)] = {.group = static_cast<std::int32_t>(groups.size()) - 1,
                                             .index = layers_per_block - left--};
    }
  }
  if (groups.empty()) groups.push_back({});
}

}  // namespace kantha::exec
