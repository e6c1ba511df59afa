#include "noded/models/part_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "noded/models/content_rules.h"

namespace kantha::noded {
namespace {

constexpr std::size_t kReadBytes = 1u << 20;

Error part_error(const std::string& path, int reason) {
  const bool full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
  return Error{full ? Code::kResourceExhausted : Code::kInternal,
               path + ": " + std::strerror(reason)};
}

}  // namespace

Result<PartFile> PartFile::open(const std::string& path, const std::function<bool()>& go_on) {
  FileHandle file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return part_error(path, errno);
  PartFile out(std::move(file), path);
  std::string piece(kReadBytes, '\0');
  while (true) {
    if (!go_on()) return Error{Code::kCancelled, path + ": told to end"};
    const ssize_t count = ::read(out.file_.fd(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return part_error(path, errno);
    if (count == 0) return out;
    out.note({piece.data(), static_cast<std::size_t>(count)});
  }
}

void PartFile::note(std::string_view bytes) {
  digest_.add(bytes);
  if (head_.size() < kContentHeadBytes) head_ += bytes.substr(0, kContentHeadBytes - head_.size());
  bytes_ += static_cast<std::int64_t>(bytes.size());
}

Status PartFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(file_.fd(), bytes.data(), bytes.size(), bytes_);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return part_error(path_, count < 0 ? errno : ENOSPC);
    note(bytes.substr(0, static_cast<std::size_t>(count)));
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return ok_status();
}

Status PartFile::clear() {
  if (::ftruncate(file_.fd(), 0) != 0) return part_error(path_, errno);
  digest_ = Sha256();
  head_.clear();
  bytes_ = 0;
  return ok_status();
}

}  // namespace kantha::noded
