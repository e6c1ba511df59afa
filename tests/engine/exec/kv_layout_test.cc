#include "engine/exec/kv_layout.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace kantha::exec {
namespace {

using Windows = std::vector<std::int32_t>;

/// A model of `layers` layers of which every `every`-th has no window.
model::LlamaConfig config(std::int32_t layers, std::int32_t window, std::int32_t every = 0) {
  model::LlamaConfig config;
  config.layers = layers;
  config.sliding_window = window;
  for (std::int32_t i = 0; i < layers && every > 0; ++i) {
    config.windowed.push_back((i + 1) % every == 0 ? 0 : 1);
  }
  return config;
}

TEST(KvLayout, DealsLayersOutInGroupsOfEqualSize) {
  struct Case {
    const char* name;
    model::LlamaConfig config;
    Windows windows;
    std::int32_t layers_per_block;
  };
  const Case cases[] = {
      {"no windows: one group, one block of all layers", config(30, 0), {0}, 30},
      {"windows everywhere", config(32, 4096), {4096}, 32},
      {"every other layer", config(36, 128, 2), {0, 128}, 18},
      {"one in six of 26", config(26, 512, 6), {0, 512, 512, 512, 512, 512, 512}, 4},
      {"one in six of 62", config(62, 1024, 6), {0, 1024, 1024, 1024, 1024, 1024, 1024}, 10},
      {"one in 20: no more groups than there may be",
       config(20, 64, 20),
       {0, 64, 64, 64, 64, 64, 64, 64},
       3},
  };
  for (const Case& c : cases) {
    const KvLayout layout(c.config);
    Windows windows;
    for (const cache::KvGroup& group : layout.groups) windows.push_back(group.window);
    EXPECT_EQ(windows, c.windows) << c.name;
    EXPECT_EQ(layout.layers_per_block, c.layers_per_block) << c.name;
    std::set<std::pair<std::int32_t, std::int32_t>> places;
    for (std::int32_t i = 0; i < c.config.layers; ++i) {
      const LayerPlace place = layout.layers[static_cast<std::size_t>(i)];
      EXPECT_EQ(layout.groups[static_cast<std::size_t>(place.group)].window, c.config.window(i));
      EXPECT_LT(place.index, layout.layers_per_block);
      EXPECT_TRUE(places.insert({place.group, place.index}).second) << c.name << ": layer " << i;
    }
  }
}

}  // namespace
}  // namespace kantha::exec
