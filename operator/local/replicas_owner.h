#pragma once

#include <cstdint>
#include <optional>

/// Who decides on the number of pods: the file, or the last `kantha scale`. Pure; any thread.
namespace kantha::local {

/// A number set by scale holds until the file's own number changes.
class ReplicasOwner {
 public:
  /// The file was read; true when this ended a scale.
  bool file_says(std::int64_t replicas) {
    const bool changed = file_ && *file_ != replicas;
    file_ = replicas;
    if (!changed || !scaled_) return false;
    scaled_.reset();
    return true;
  }
  void scale_says(std::int64_t replicas) { scaled_ = replicas; }
  std::int64_t wanted() const { return scaled_ ? *scaled_ : file_.value_or(0); }
  bool is_scaled() const { return scaled_.has_value(); }

 private:
  std::optional<std::int64_t> file_;
  std::optional<std::int64_t> scaled_;
};

}  // namespace kantha::local
