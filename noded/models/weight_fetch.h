#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/net/task_group.h"
#include "noded/models/cache_folder.h"
#include "noded/models/download.h"
#include "noded/models/progress_board.h"
#include "noded/models/retry_rules.h"

/// Brings one file of weights into the node's cache and holds it there.
namespace kantha::noded {

/// Which file.
struct FetchSpec {
  std::vector<Url> urls;   ///< at least one; asked in this order
  std::string sha256;      ///< 64 lower-case hex digits
  std::int64_t bytes = 0;  ///< its size, when known
};

struct FetchSettings {
  std::string cache;                                     ///< the folder
  std::int64_t quota_bytes = 0;                          ///< of the whole folder; 0: the disk
  std::int64_t spare_bytes = 256ll << 20;                ///< that the disk shall keep free
  Duration look_again = std::chrono::milliseconds(200);  ///< at another process' download
  RetryPolicy retry = {};
  DownloadSettings download = {};
};

/// Flow: in the cache already → hold it. Else lock the digest (one download per node; who does not
/// get the lock watches the other's progress) → make room → attempts, mirror after mirror, with
/// pauses → verify → publish → hold. A round that fails is told (kFailed), the lock let go, and
/// another begun minutes later, so that a repaired server needs no hand.
/// Guarantees: a file has its name in the cache only after its SHA-256 was right; a process killed
/// at any moment leaves nothing that is taken for the file. One executor, of a thread that may
/// block on the disk.
class WeightFetch {
 public:
  WeightFetch(boost::asio::any_io_executor executor, FetchSpec spec, FetchSettings settings,
              const Clock& clock, ProgressBoard& board);

  /// Returns when the file is held, or after stop().
  net::Task<void> run();
  /// Ends run(); the file stays held until this object goes. Executor's thread.
  void stop();
  /// Lets run() end at its next look; any thread.
  void ask_to_stop() { stopping_ = true; }
  bool is_held() const { return held_.is_open(); }
  /// Attempts at an address so far.
  std::int64_t attempts() const { return attempts_; }

 private:
  bool go_on() const { return !stopping_; }
  bool hold_published(const CacheFolder& folder);
  /// The lock is ours. Whether the file is held; else a round ended, or we shall stop.
  net::Task<bool> bring(CacheFolder folder);
  net::Task<DownloadEnd> attempt(CacheFolder folder);
  DownloadEnd judge_digest(const CacheFolder& folder, PartFile& part, bool was_resumed);
  DownloadJob job_for(const CacheFolder& folder, const PartNote& note);
  Status make_room(const CacheFolder& folder, std::int64_t bytes);
  void show_other(const CacheFolder& folder);
  void announce(const RetryStep& step, const DownloadEnd& end, const Url& url);
  net::Task<void> wait(Duration duration);

  boost::asio::any_io_executor executor_;
  FetchSpec spec_;
  FetchSettings settings_;
  const Clock& clock_;
  ProgressBoard& board_;
  net::Notify wake_;
  std::atomic<bool> stopping_ = false;
  RetryState retry_;
  Duration hold_{};
  bool mismatched_ = false;  ///< in this round, what was resumed had the wrong digest
  std::int64_t attempts_ = 0;
  Download* running_ = nullptr;
  FileHandle held_;
};

}  // namespace kantha::noded
