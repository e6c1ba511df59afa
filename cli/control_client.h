#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "operator/local/world_view.h"

/// The worlds that run on this machine, through their control sockets. Main thread; blocks for at
/// most a few seconds.
namespace kantha::cli {

struct RunningWorld {
  Json object;  ///< as the control API gives it
  local::WorldView view;
};

/// "kms/m", "modelserving/m", "modelservings/m" and "m" are all m.
std::string plain_name(const std::string& text);

/// Every world that answers, by name. Sockets that nobody answers on are left out.
Result<std::vector<RunningWorld>> list_worlds();

/// One world; kNotFound names those that do run.
Result<RunningWorld> find_world(const std::string& name);

/// Sets the number of replicas.
Status scale_world(const std::string& name, std::int64_t replicas);

/// A merge patch of spec.rollout.
Status patch_world(const std::string& name, const Json& patch);

}  // namespace kantha::cli
