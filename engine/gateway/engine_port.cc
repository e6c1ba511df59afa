#include "engine/gateway/engine_port.h"

namespace kantha::gateway {

double EngineStats::kv_pressure() const {
  if (blocks_total == 0) return 0;
  const auto total = static_cast<double>(blocks_total);
  return static_cast<double>(blocks_active) / total +
         static_cast<double>(waiting_tokens) / (total * block_size);
}

}  // namespace kantha::gateway
