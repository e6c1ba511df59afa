#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/result.h"
#include "noded/models/file_lock.h"

/// The bytes of a file that have arrived so far, and their digest. One thread.
namespace kantha::noded {

class PartFile {
 public:
  /// Opens or makes the file and reads what is there for the digest (gigabytes take seconds).
  /// `go_on` is asked now and then; false ends with kCancelled. kInternal names path and reason.
  static Result<PartFile> open(const std::string& path, const std::function<bool()>& go_on);

  std::int64_t bytes() const { return bytes_; }
  /// The first bytes, at most kContentHeadBytes.
  const std::string& head() const { return head_; }
  /// kResourceExhausted when the disk or a quota is full; what was written stays.
  Status append(std::string_view bytes);
  /// Back to no bytes at all.
  Status clear();
  /// The digest of all bytes; once, then the file is only good to be published.
  std::string digest() { return digest_.hex(); }
  const FileHandle& handle() const { return file_; }
  FileHandle release() && { return std::move(file_); }

 private:
  PartFile(FileHandle file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  void note(std::string_view bytes);

  FileHandle file_;
  std::string path_;
  Sha256 digest_;
  std::string head_;
  std::int64_t bytes_ = 0;
};

}  // namespace kantha::noded
