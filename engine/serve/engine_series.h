#pragma once

#include <span>

#include "engine/gateway/engine_port.h"

namespace kantha::serve {

/// One series that shows a number which the engine keeps. Labels are model_name, engine and the
/// own one, if any.
struct EngineSeries {
  const char* name;  ///< ends in _total: a counter, else a gauge
  const char* help;
  const char* label;  ///< nullptr: none of its own
  const char* label_value;
  double (*read)(const gateway::EngineStats& stats);
};

/// All of them; docs/metrics.md describes each. Pure; any thread.
std::span<const EngineSeries> engine_series();

}  // namespace kantha::serve
