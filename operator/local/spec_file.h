#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "operator/serving/model_serving_from_yaml.h"

/// The YAML file of a running world, watched by looking. One thread.
namespace kantha::local {

/// Notices edits, also those that replace the file (most editors do). A change counts when two
/// looks in a row see the same file, so that a half-written one is not read. A pipe is read once,
/// at the start (`-f <(…)`): a later look never opens one, which could wait for its writer for
/// ever.
class SpecFile {
 public:
  explicit SpecFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  /// Reads the file now and takes it for the known state.
  serving::ModelServingFile read();
  /// One look: the file's new content when it changed since the last read, else nullopt. A file
  /// that went away is a change, told once.
  std::optional<serving::ModelServingFile> look();

 private:
  struct Signature {
    bool exists = false;
    bool is_regular = false;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t mtime_ns = 0;
    bool operator==(const Signature&) const = default;
  };
  Signature signature() const;

  std::string path_;
  Signature read_;
  Signature seen_;
};

}  // namespace kantha::local
