#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/serve/engine_config.h"
#include "engine/serve/engine_parent.h"

namespace kantha::serve {

/// What the arguments ask for: a configuration to run, or a text to print.
struct CommandLine {
  EngineConfig config = {};
  std::string print = {};  ///< --help or --version; when not empty, print it and exit with 0
  /// --supervise: be the parent of an engine with these arguments; `config` is not read then.
  std::optional<ParentOptions> parent = {};
};

/// Reads the arguments (without argv[0]) and the file that --config names. Errors are one sentence
/// for a terminal; the program exits with kExitConfig.
Result<CommandLine> read_command_line(const std::vector<std::string>& arguments);

/// Exit statuses, so that a supervisor can tell faults that a restart cannot cure from crashes.
inline constexpr int kExitOk = 0;
inline constexpr int kExitConfig = 2;  ///< arguments, configuration or listening address
inline constexpr int kExitModel = 3;   ///< the model cannot be loaded or does not fit

}  // namespace kantha::serve
