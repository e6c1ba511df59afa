#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "noded/models/answer_rules.h"
#include "noded/models/file_lock.h"
#include "noded/models/room_plan.h"

/// The folder in which a node keeps weights, by digest. See README.md for layout and locks. Nothing
/// in it is named after an address. Several processes may use one folder. Any thread.
namespace kantha::noded {

/// 64 lower-case hex digits; everything else is refused before it becomes part of a path.
bool is_digest(const std::string& text);

class CacheFolder {
 public:
  /// Makes the folder when it is not there. kFailedPrecondition names it and what is wrong: no
  /// folder, not writable.
  static Result<CacheFolder> open(std::string path);

  const std::string& path() const { return path_; }
  std::string file_of(const std::string& digest) const { return path_ + "/" + digest; }
  std::string part_of(const std::string& digest) const { return file_of(digest) + ".part"; }
  std::string note_of(const std::string& digest) const { return file_of(digest) + ".note"; }
  std::string lock_of(const std::string& digest) const { return file_of(digest) + ".lock"; }

  /// What is known of a part; empty when nothing is, or nothing readable.
  PartNote read_note(const std::string& digest) const;
  Status write_note(const std::string& digest, const PartNote& note) const;
  /// Bytes of the part on disk; 0 without one.
  std::int64_t part_bytes(const std::string& digest) const;

  /// Takes a published file into use and dates it. nullopt when it is not there; one that is empty
  /// or no file is removed.
  Result<std::optional<FileHandle>> use(const std::string& digest) const;
  /// Gives a whole, verified part its name: content, then name, then folder reach the disk before
  /// it returns. `part` stays open, as its first user. The caller holds the digest's lock.
  Status publish(const std::string& digest, const FileHandle& part) const;
  /// Forgets a part and what is known of it.
  void drop_part(const std::string& digest) const;

  /// Files and abandoned parts, but for those of `except`.
  std::vector<CacheEntry> entries(const std::string& except) const;
  /// Bytes of everything in the folder.
  std::int64_t used_bytes() const;
  std::int64_t free_bytes() const;
  /// Takes an entry out; one that came into use meanwhile stays.
  bool evict(const CacheEntry& entry) const;

 private:
  explicit CacheFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace kantha::noded
