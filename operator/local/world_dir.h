#pragma once

#include <string>

#include "base/result.h"

/// The folder of one running world, held by a lock so that a name runs once. One thread.
namespace kantha::local {

/// Owns <root>/<name>/ while it lives: mode 0700, ours, locked. What a killed run left behind is
/// cleared on claim; the folder is removed on destruction.
class WorldDir {
 public:
  /// kAlreadyExists: the name runs in another process (its id is told). kPermissionDenied: the
  /// folder belongs to somebody else or is a link. kOutOfRange: socket paths would be too long for
  /// the kernel (107 bytes).
  static Result<WorldDir> claim(const std::string& root, const std::string& name);
  WorldDir(WorldDir&& other) noexcept;
  WorldDir& operator=(WorldDir&&) = delete;
  ~WorldDir();

  const std::string& path() const { return path_; }
  std::string control_socket() const { return path_ + "/control.sock"; }
  /// Makes the folder of a pod, empty. The pod's files: engine.json, engine.sock, admin.sock,
  /// noded.log, engine.log.
  Result<std::string> make_pod_dir(std::int64_t ordinal) const;
  /// Removes the folder of a pod.
  void remove_pod_dir(std::int64_t ordinal) const;

 private:
  WorldDir(std::string path, int lock_fd) : path_(std::move(path)), lock_fd_(lock_fd) {}
  std::string pod_dir(std::int64_t ordinal) const {
    return path_ + "/pod-" + std::to_string(ordinal);
  }
  std::string path_;
  int lock_fd_ = -1;
};

}  // namespace kantha::local
