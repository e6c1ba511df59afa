#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "operator/serving/types.h"

/// What people said to a rollout through the control API; the file stays theirs. Plain data; any
/// thread.
namespace kantha::local {

class RolloutVerbs {
 public:
  /// A merge patch of the object with fields of spec.rollout: paused, abort, promote. Everything
  /// else is refused by name: it belongs into the file.
  Status take(const Json& patch);
  /// A word of `kantha rollout pause|resume` holds until the file's own `paused` changes.
  void file_says(bool paused);
  /// The rollout as it is to be.
  void apply(serving::RolloutSpec& rollout) const;

 private:
  std::optional<bool> file_paused_;
  std::optional<bool> paused_;
  std::optional<std::string> abort_;
  std::optional<std::string> promote_;
};

}  // namespace kantha::local
