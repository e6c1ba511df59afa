#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

/// Where the local world keeps and finds things. Any thread.
namespace kantha::local {

/// Looks up an environment variable; empty ones count as absent.
using Environment = std::function<std::optional<std::string>(const char* name)>;
/// This process's environment.
Environment process_environment();

struct Places {
  std::string run_root;     ///< one folder per running world: $XDG_RUNTIME_DIR/kantha, or
                            ///< ${XDG_CACHE_HOME:-~/.cache}/kantha/run
  std::string model_cache;  ///< ${XDG_CACHE_HOME:-~/.cache}/kantha/models
  std::string bin_dir;      ///< $KANTHA_BIN_DIR, or the folder of the running program
};

/// Where nodeds keep weights that they fetch (source http), apart from what people put there.
std::string fetch_cache_of(const Places& places);

/// kFailedPrecondition when neither HOME nor the XDG variables are set. Relative XDG paths are
/// ignored, as their specification asks.
Result<Places> find_places(const Environment& environment);

/// The weights' file for spec.model.source.hostPath: an absolute path as it is; a relative one
/// beside the YAML file first, then in the model cache. kNotFound names every place that was tried
/// and how to fetch a model.
Result<std::string> find_model(const std::string& host_path, const std::string& yaml_file,
                               const Places& places);

/// The API keys for spec.gateway.authSecret: keys.json in the folder of that name beside the YAML
/// file, as a Secret of one file would be mounted. Empty when no Secret is named; kNotFound names
/// the place.
Result<std::string> find_api_keys(const std::string& auth_secret, const std::string& yaml_file);

/// The golden prompts for spec.rollout.gates.goldenPrompts.configMap: prompts.json in the folder of
/// that name beside the YAML file. Empty when there are none; kNotFound names the place.
Result<std::string> find_golden_prompts(const std::string& config_map,
                                        const std::string& yaml_file);

}  // namespace kantha::local
