#include "operator/local/world_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace kantha::local {
namespace {

namespace fs = std::filesystem;

/// sun_path has 108 bytes with its end.
constexpr std::size_t kSocketPathMax = 107;
constexpr std::string_view kLongestSocket = "/pod-99/engine.sock";
constexpr int kClaimTries = 20;

Error from_errno(const std::string& what) {
  const Code code = errno == EACCES || errno == EPERM ? Code::kPermissionDenied : Code::kInternal;
  return {code, what + ": " + std::strerror(errno)};
}

Status make_private_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return internal_error("cannot make " + path + ": " + error.message());
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return from_errno("cannot make " + path);
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return from_errno("cannot look at " + path);
  if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid()) {
    return Error{Code::kPermissionDenied, path + " is not a folder of this user"};
  }
  if (chmod(path.c_str(), 0700) != 0) return from_errno("cannot protect " + path);
  return ok_status();
}

std::string read_owner(int fd) {
  std::array<char, 32> text{};
  const ssize_t count = pread(fd, text.data(), text.size() - 1, 0);
  return count > 0 ? std::string(text.data(), static_cast<std::size_t>(count)) : "unknown";
}

/// A lock whose file somebody removed in the meantime guards nothing.
bool still_names(const std::string& path, int fd) {
  struct stat by_name{};
  struct stat by_fd{};
  return stat(path.c_str(), &by_name) == 0 && fstat(fd, &by_fd) == 0 &&
         by_name.st_ino == by_fd.st_ino && by_name.st_dev == by_fd.st_dev;
}

/// The locked descriptor, or -1 when the folder changed hands and the caller has to try again.
Result<int> try_lock(const std::string& folder, const std::string& name) {
  TRY_OK(make_private_folder(folder));
  const std::string path = folder + "/lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return errno == ENOENT ? Result<int>(-1) : from_errno("cannot open " + path);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const bool busy = errno == EWOULDBLOCK;
    Error error = from_errno("cannot lock " + path);
    const std::string owner = read_owner(fd);
    close(fd);
    if (!busy) return error;
    return Error{Code::kAlreadyExists,
                 "\"" + name + "\" already runs here (process " + owner + ")"};
  }
  if (!still_names(path, fd)) {
    close(fd);
    return -1;
  }
  const std::string owner = std::to_string(getpid());
  if (ftruncate(fd, 0) != 0 || pwrite(fd, owner.data(), owner.size(), 0) < 0) {
    close(fd);
    return from_errno("cannot write " + path);
  }
  return fd;
}

void clear_leftovers(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename() != "lock") fs::remove_all(entry.path(), error);
  }
}

}  // namespace

Result<WorldDir> WorldDir::claim(const std::string& root, const std::string& name) {
  const std::string path = root + "/" + name;
  if (path.size() + kLongestSocket.size() > kSocketPathMax) {
    return Error{Code::kOutOfRange, "the folder " + path + " is too long for Unix sockets (" +
                                        std::to_string(path.size() + kLongestSocket.size()) +
                                        " of at most " + std::to_string(kSocketPathMax) +
                                        " bytes); set XDG_RUNTIME_DIR to a shorter one"};
  }
  for (int i = 0; i < kClaimTries; ++i) {
    TRY(const int fd, try_lock(path, name));
    if (fd < 0) continue;
    clear_leftovers(path);
    return WorldDir(path, fd);
  }
  return unavailable("the folder " + path + " changes hands too often");
}

WorldDir::WorldDir(WorldDir&& other) noexcept
    : path_(std::move(other.path_)), lock_fd_(std::exchange(other.lock_fd_, -1)) {}

WorldDir::~WorldDir() {
  if (lock_fd_ < 0) return;
  // Removed while still locked: whoever waits for the name sees that its lock file is gone.
  std::error_code error;
  fs::remove_all(path_, error);
  close(lock_fd_);
}

Result<std::string> WorldDir::make_pod_dir(std::int64_t ordinal) const {
  const std::string path = pod_dir(ordinal);
  std::error_code error;
  fs::remove_all(path, error);
  TRY_OK(make_private_folder(path));
  return path;
}

void WorldDir::remove_pod_dir(std::int64_t ordinal) const {
  std::error_code error;
  fs::remove_all(pod_dir(ordinal), error);
}

}  // namespace kantha::local
