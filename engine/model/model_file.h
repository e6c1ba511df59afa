#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

/// A file's bytes in memory without reading them.
namespace kantha::model {

/// A read-only mapping of a regular file, unmapped by the destructor. The size is taken from the
/// open file before and again after mapping. A file that somebody truncates later is not noticed:
/// touching the lost pages raises SIGBUS. Model files must be replaced by rename, never written in
/// place. Immutable; any thread.
class ModelFile {
 public:
  /// Errors: kNotFound, kPermissionDenied, kInvalidArgument (not a regular file), kDataLoss
  /// (changed while it was opened), kUnavailable (the system refused the mapping).
  static Result<std::shared_ptr<const ModelFile>> open(const std::string& path);

  ~ModelFile();
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

  /// Brings some of bytes() into memory (others are left alone); blocks while they are read.
  void fetch(std::span<const std::byte> wanted) const;
  /// Lets the system take back the memory of some of bytes() (others are left alone): for what was
  /// copied elsewhere. They stay readable, and are read from the file again if need be.
  void release(std::span<const std::byte> read) const;

 private:
  explicit ModelFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> pages_of(std::span<const std::byte> part) const;

  std::span<const std::byte> bytes_;  ///< the mapping; empty for an empty file
};

}  // namespace kantha::model
