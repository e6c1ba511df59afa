#include "noded/models/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/json.h"
#include "base/json_text.h"
#include "base/whole_file.h"

namespace kantha::noded {
namespace {

constexpr std::size_t kDigestDigits = 64;
constexpr std::size_t kNoteBytesMax = 64u << 10;
/// What people may do with weights: read them.
constexpr mode_t kPublishedMode = 0444;

Error folder_error(const std::string& path, const std::string& why) {
  return Error{Code::kFailedPrecondition, "the model cache " + path + ": " + why};
}

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
  if (folder == nullptr) return out;
  while (const dirent* entry = ::readdir(folder.get())) out.emplace_back(entry->d_name);
  return out;
}

std::int64_t disk_bytes(const struct stat& file) {
  constexpr std::int64_t kStatBlock = 512;
  return static_cast<std::int64_t>(file.st_blocks) * kStatBlock;
}

WallTime used_at(const struct stat& file) {
  const timespec& at = file.st_atim.tv_sec > file.st_mtim.tv_sec ? file.st_atim : file.st_mtim;
  return WallTime(std::chrono::duration_cast<WallTime::duration>(
      std::chrono::seconds(at.tv_sec) + std::chrono::nanoseconds(at.tv_nsec)));
}

Status sync_folder(const std::string& path) {
  const FileHandle folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.is_open() && ::fsync(folder.fd()) == 0) return ok_status();
  return internal_error(path + ": " + std::strerror(errno));
}

}  // namespace

bool is_digest(const std::string& text) {
  return text.size() == kDigestDigits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Result<CacheFolder> CacheFolder::open(std::string path) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    return folder_error(path, std::strerror(errno));
  }
  struct stat folder = {};
  if (::stat(path.c_str(), &folder) != 0 || !S_ISDIR(folder.st_mode)) {
    return folder_error(path, "is no folder");
  }
  if (::access(path.c_str(), R_OK | W_OK | X_OK) != 0) {
    return folder_error(path, std::string(std::strerror(errno)) +
                                  "; it must be writable for user " + std::to_string(::getuid()));
  }
  return CacheFolder(std::move(path));
}

PartNote CacheFolder::read_note(const std::string& digest) const {
  const Result<std::string> text = read_whole_file(note_of(digest), kNoteBytesMax);
  if (!text.ok()) return {};
  const Result<Json> json = parse_json(*text);
  if (!json.ok() || !json->is_object()) return {};
  PartNote out{text_at(*json, "source"), text_at(*json, "etag"), text_at(*json, "lastModified"),
               -1};
  const auto total = json->find("total");
  if (total != json->end() && total->is_number_integer()) out.total = total->get<std::int64_t>();
  return out;
}

Status CacheFolder::write_note(const std::string& digest, const PartNote& note) const {
  const Json json = {{"source", note.source},
                     {"etag", note.etag},
                     {"lastModified", note.last_modified},
                     {"total", note.total}};
  return replace_whole_file(note_of(digest), dump_json(json) + "\n");
}

std::int64_t CacheFolder::part_bytes(const std::string& digest) const {
  struct stat file = {};
  return ::lstat(part_of(digest).c_str(), &file) == 0 && S_ISREG(file.st_mode) ? file.st_size : 0;
}

Result<std::optional<FileHandle>> CacheFolder::use(const std::string& digest) const {
  const std::string path = file_of(digest);
  TRY(std::optional<FileHandle> file, hold_in_use(path));
  if (!file) return file;
  struct stat facts = {};
  if (::fstat(file->fd(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size == 0) {
    file->close();
    (void)remove_unless_in_use(path);
    return std::optional<FileHandle>();
  }
  // Only the owner may date it; where another user published it, reading it does.
  const std::array<timespec, 2> times = {timespec{.tv_sec = 0, .tv_nsec = UTIME_NOW},
                                         timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
  (void)::futimens(file->fd(), times.data());
  return file;
}

Status CacheFolder::publish(const std::string& digest, const FileHandle& part) const {
  const std::string from = part_of(digest);
  TRY_OK(mark_in_use(part, from));
  const bool on_disk = ::fchmod(part.fd(), kPublishedMode) == 0 && ::fsync(part.fd()) == 0;
  if (!on_disk || ::rename(from.c_str(), file_of(digest).c_str()) != 0) {
    return internal_error("cannot publish " + file_of(digest) + ": " + std::strerror(errno));
  }
  ::unlink(note_of(digest).c_str());
  return sync_folder(path_);
}

void CacheFolder::drop_part(const std::string& digest) const {
  // The note goes first: bytes without a note are only bytes to verify.
  ::unlink(note_of(digest).c_str());
  ::unlink(part_of(digest).c_str());
}

std::vector<CacheEntry> CacheFolder::entries(const std::string& except) const {
  std::vector<CacheEntry> out;
  for (const std::string& name : names_in(path_)) {
    const std::string digest = name.substr(0, kDigestDigits);
    const bool is_part = name == digest + ".part";
    if (!is_digest(digest) || digest == except || (!is_part && name != digest)) continue;
    struct stat file = {};
    if (::lstat((path_ + "/" + name).c_str(), &file) != 0 || !S_ISREG(file.st_mode)) continue;
    const bool in_use = is_held(is_part ? lock_of(digest) : file_of(digest));
    out.push_back({digest, is_part, disk_bytes(file), used_at(file), in_use});
  }
  return out;
}

std::int64_t CacheFolder::used_bytes() const {
  std::int64_t out = 0;
  for (const std::string& name : names_in(path_)) {
    struct stat file = {};
    const bool is_file = ::lstat((path_ + "/" + name).c_str(), &file) == 0 && S_ISREG(file.st_mode);
    if (is_file) out += disk_bytes(file);
  }
  return out;
}

std::int64_t CacheFolder::free_bytes() const {
  struct statvfs disk = {};
  if (::statvfs(path_.c_str(), &disk) != 0) return 0;
  return static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
}

bool CacheFolder::evict(const CacheEntry& entry) const {
  if (!entry.is_part) return remove_unless_in_use(file_of(entry.digest));
  const Result<std::optional<FileHandle>> lock = try_lock_alone(lock_of(entry.digest));
  if (!lock.ok() || !lock->has_value()) return false;
  drop_part(entry.digest);
  return true;
}

}  // namespace kantha::noded
