#include "base/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace kantha {
namespace {

Error file_error(const std::string& path, int reason) {
  return internal_error("cannot write " + path + ": " + std::strerror(reason));
}

/// 0 or an errno.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return ::fsync(fd) == 0 ? 0 : errno;
}

}  // namespace

Result<std::string> read_whole_file(const std::string& path, std::size_t bytes_max) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return not_found(path + ": cannot be opened");
  std::string text(bytes_max + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return internal_error(path + ": cannot be read");
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() <= bytes_max) return text;
  return Error{Code::kOutOfRange, path + ": longer than " + std::to_string(bytes_max) + " bytes"};
}

Status replace_whole_file(const std::string& path, std::string_view bytes) {
  const std::string draft = path + ".new";
  const int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return file_error(draft, errno);
  int failure = write_all(fd, bytes);
  ::close(fd);
  if (failure == 0 && ::rename(draft.c_str(), path.c_str()) != 0) failure = errno;
  if (failure == 0) return ok_status();
  ::unlink(draft.c_str());  // half a file is of no use to anybody
  return file_error(path, failure);
}

}  // namespace kantha
