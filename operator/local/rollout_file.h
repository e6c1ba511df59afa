#pragma once

#include <string>

#include "base/result.h"
#include "operator/serving/rollout_state.h"

/// Where a world's rollout stands, kept beside its run folder so that it outlives `kantha up`. One
/// thread.
namespace kantha::local {

class RolloutFile {
 public:
  /// <root>/.rollouts/<name>.json
  RolloutFile(const std::string& root, const std::string& name);

  /// The state as it was written last; the initial one when there is none, or none that is usable.
  serving::RolloutState read() const;
  /// In one step, and only when it differs from what was read or written last.
  Status write(const serving::RolloutState& state);

 private:
  std::string folder_;
  std::string path_;
  mutable std::string known_;
};

}  // namespace kantha::local
