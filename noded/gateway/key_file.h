#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>

#include "noded/gateway/api_keys.h"

namespace kantha::noded {

/// The API keys in a file, as it is now. A Secret's file changes by a symbolic link that leads
/// elsewhere (or by a rename, or in place): each look compares what the path leads to, and reads it
/// again when it is something else. A new file that is wrong, or gone, changes nothing: the last
/// good keys stay, and error() says so until the file is right. One thread.
class KeyFile {
 public:
  /// Empty path: no keys are asked for.
  explicit KeyFile(std::string path) : path_(std::move(path)) {}

  /// Reads the keys for the first time; the error names file, place and limit.
  Status open();
  bool asks_for_keys() const { return !path_.empty(); }

  /// The keys as of now. What was given stays valid while it is held. Not null after open().
  std::shared_ptr<const ApiKeys> keys();
  /// Why the file's present content is not in use; empty while it is.
  const std::string& error() const { return error_; }
  /// Times that the keys were read anew, and times that a new file was refused.
  std::int64_t reloads() const { return reloads_; }
  std::int64_t failures() const { return failures_; }

 private:
  void refresh();
  void fail(std::string error);

  std::string path_;
  std::shared_ptr<const ApiKeys> keys_;
  std::string error_;
  struct stat seen_ = {};
  bool is_gone_ = false;
  std::int64_t reloads_ = 0;
  std::int64_t failures_ = 0;
};

}  // namespace kantha::noded
