#include "engine/gateway/engine_port.h"

#include <algorithm>

namespace kantha::gateway {

void StepSizes::add(std::int64_t step_tokens) {
  const auto* const bound = std::ranges::lower_bound(kBounds, step_tokens);
  ++counts[static_cast<std::size_t>(bound - kBounds.begin())];
  tokens += step_tokens;
}

double EngineStats::kv_pressure() const {
  if (blocks_total == 0) return 0;
  const auto total = static_cast<double>(blocks_total);
  return static_cast<double>(blocks_active) / total +
         static_cast<double>(waiting_tokens) / (total * block_size);
}

}  // namespace kantha::gateway
