#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

/// Advisory locks of the kernel (flock): they end with the process that holds them, whatever way it
/// ends, so that no lock of a dead pod is left behind. They hold between all processes of one node,
/// containers included, on a local file system. Any thread; one object, one thread at a time.
namespace kantha::noded {

/// An open descriptor. Move-only.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int fd) : fd_(fd) {}
  FileHandle(FileHandle&& other) noexcept;
  FileHandle& operator=(FileHandle&& other) noexcept;
  ~FileHandle() { close(); }
  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

/// The lock that makes one process at a time download a file; the empty file at `path` stays.
/// nullopt when somebody else has it. kInternal with the path.
Result<std::optional<FileHandle>> try_lock_alone(const std::string& path);

/// Opens a published file and holds it in use: nobody takes it out of the cache while the handle is
/// open. nullopt when there is no such file (any more).
Result<std::optional<FileHandle>> hold_in_use(const std::string& path);

/// The same for a file that is open already and not yet published.
Status mark_in_use(const FileHandle& file, const std::string& path);

/// Removes a published file unless somebody holds it in use. Whether it is gone.
bool remove_unless_in_use(const std::string& path);

/// Whether somebody holds it now.
bool is_held(const std::string& path);

}  // namespace kantha::noded
