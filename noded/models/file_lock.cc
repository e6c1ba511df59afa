#include "noded/models/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace kantha::noded {
namespace {

Error file_error(const std::string& path, int reason) {
  return internal_error(path + ": " + std::strerror(reason));
}

/// Whether the path still leads to the file that is open.
bool is_same_file(int fd, const std::string& path) {
  struct stat open_file = {};
  struct stat named = {};
  return ::fstat(fd, &open_file) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

int lock_now(int fd, int kind) {
  while (::flock(fd, kind | LOCK_NB) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace

FileHandle::FileHandle(FileHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void FileHandle::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<std::optional<FileHandle>> try_lock_alone(const std::string& path) {
  FileHandle file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return file_error(path, errno);
  const int failure = lock_now(file.fd(), LOCK_EX);
  if (failure == EWOULDBLOCK) return std::optional<FileHandle>();
  if (failure != 0) return file_error(path, failure);
  return std::optional<FileHandle>(std::move(file));
}

Result<std::optional<FileHandle>> hold_in_use(const std::string& path) {
  // Between open and flock the file may be taken out; then the path leads elsewhere.
  for (int attempt = 0; attempt < 8; ++attempt) {
    FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file.is_open()) {
      if (errno == ENOENT) return std::optional<FileHandle>();
      return file_error(path, errno);
    }
    const int failure = lock_now(file.fd(), LOCK_SH);
    if (failure != 0 && failure != EWOULDBLOCK) return file_error(path, failure);
    if (failure == 0 && is_same_file(file.fd(), path)) {
      return std::optional<FileHandle>(std::move(file));
    }
  }
  return std::optional<FileHandle>();
}

Status mark_in_use(const FileHandle& file, const std::string& path) {
  const int failure = lock_now(file.fd(), LOCK_SH);
  return failure == 0 ? ok_status() : Status(file_error(path, failure));
}

bool remove_unless_in_use(const std::string& path) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open()) return errno == ENOENT;
  if (lock_now(file.fd(), LOCK_EX) != 0) return false;
  return is_same_file(file.fd(), path) && ::unlink(path.c_str()) == 0;
}

bool is_held(const std::string& path) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return file.is_open() && lock_now(file.fd(), LOCK_EX) == EWOULDBLOCK;
}

}  // namespace kantha::noded
