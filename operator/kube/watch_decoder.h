#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "operator/kube/lean_text.h"

/// Bytes of a watch → events, one line each. One owner; no I/O.
/// Source: Kubernetes docs, "API Concepts", "Efficient detection of changes".
namespace kantha::kube {

enum class WatchEventType : unsigned char { kAdded, kModified, kDeleted, kBookmark, kError };

struct WatchEvent {
  WatchEventType type = WatchEventType::kAdded;
  Json object;  ///< its managedFields are empty; for kBookmark only metadata.resourceVersion and
                ///< annotations mean something
};

/// Cuts lines out of pieces of any size. A line that is no event (malformed JSON, unknown type) is
/// counted and skipped; a line beyond the bound is an error, because what follows can't be trusted.
class WatchDecoder {
 public:
  /// `unread`: members that are emptied before a line is parsed (lean_text.h).
  explicit WatchDecoder(std::size_t line_bytes_max = 8u << 20, MemberNames unread = {})
      : line_bytes_max_(line_bytes_max), unread_(unread) {}

  /// The events that the bytes complete. kOutOfRange: a line is longer than the bound, now and in
  /// every later call; events before that line are given first, and the error by the next call.
  Result<std::vector<WatchEvent>> feed(std::string_view bytes);
  /// Lines that were skipped so far.
  std::size_t skipped_count() const { return skipped_count_; }
  /// Bytes of a line that is not whole yet; dropped when the watch ends.
  std::size_t pending_bytes() const { return pending_.size(); }

 private:
  std::optional<WatchEvent> decode(std::string_view line);

  std::size_t line_bytes_max_;
  MemberNames unread_;
  std::string pending_;
  std::string lean_;  ///< room for one line without what nobody reads
  std::size_t skipped_count_ = 0;
  bool is_broken_ = false;
};

}  // namespace kantha::kube
