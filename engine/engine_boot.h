#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "engine/serve/engine_config.h"
#include "engine/serve/phase_board.h"
#include "engine/serve/served_model.h"

namespace kantha::serve {

/// From a configuration to a running engine: map and check the weights, build tokenizer and
/// template, size the KV pool for the machine, prepare the forward pass, start the engine thread.
/// Errors are those of each step, with the step's name. Blocks for as long as it takes; any thread.
/// The clock outlives the model.
Result<ServedModel> boot_engine(const EngineConfig& config, PhaseBoard& board, const Clock& clock);

/// The id in the API when none is configured: general.name where it can stand in a URL, else the
/// file's name without its ending. Pure.
std::string default_model_name(const std::string& general_name, const std::string& path);

}  // namespace kantha::serve
