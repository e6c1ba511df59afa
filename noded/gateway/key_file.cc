#include "noded/gateway/key_file.h"

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "base/whole_file.h"

namespace kantha::noded {
namespace {

/// A Secret holds at most 1 MiB.
constexpr std::size_t kFileBytesMax = 2u << 20;

bool is_same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

Result<std::shared_ptr<const ApiKeys>> read_keys(const std::string& path) {
  TRY(const std::string text, read_whole_file(path, kFileBytesMax));
  Result<ApiKeys> keys = ApiKeys::read(text);
  if (!keys.ok()) return std::move(keys).error().with_context(path);
  return std::make_shared<const ApiKeys>(std::move(keys).value());
}

}  // namespace

Status KeyFile::open() {
  if (!asks_for_keys()) return ok_status();
  // Before the reading: a change in between is then seen at the next look.
  ::stat(path_.c_str(), &seen_);
  auto keys = read_keys(path_);
  if (!keys.ok()) return std::move(keys).error().with_context("--api-keys-file");
  keys_ = std::move(keys).value();
  if (keys_->count() == 0) log_warn("no API key is listed: nobody is let in", {{"file", path_}});
  return ok_status();
}

std::shared_ptr<const ApiKeys> KeyFile::keys() {
  if (asks_for_keys()) refresh();
  return keys_;
}

void KeyFile::refresh() {
  struct stat now = {};
  if (::stat(path_.c_str(), &now) != 0) {
    const std::string reason = std::strerror(errno);
    if (!is_gone_) fail(path_ + ": " + reason);
    is_gone_ = true;
    return;
  }
  if (!is_gone_ && is_same_file(now, seen_)) return;
  is_gone_ = false;
  seen_ = now;
  auto keys = read_keys(path_);
  if (!keys.ok()) return fail(keys.error().message);
  keys_ = std::move(keys).value();
  error_.clear();
  ++reloads_;
  log_info("API keys read", {{"file", path_}, {"keys", keys_->count()}});
}

void KeyFile::fail(std::string error) {
  ++failures_;
  log_error("the API keys stay as they were", {{"error", error}});
  error_ = "the API keys stay as they were: " + std::move(error);
}

}  // namespace kantha::noded
