#include "noded/models/weight_fetch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/rng.h"
#include "noded/models/content_rules.h"

namespace kantha::noded {
namespace {

std::string seconds_text(Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  return std::to_string(static_cast<std::int64_t>(std::ceil(seconds))) + " s";
}

}  // namespace

WeightFetch::WeightFetch(boost::asio::any_io_executor executor, FetchSpec spec,
                         FetchSettings settings, const Clock& clock, ProgressBoard& board)
    : executor_(executor),
      spec_(std::move(spec)),
      settings_(std::move(settings)),
      clock_(clock),
      board_(board),
      wake_(executor) {
  CHECK(!spec_.urls.empty(), "there is an address");
  CHECK(is_digest(spec_.sha256), "the digest was checked");
  board_.set_source(spec_.urls[0].shown());
  board_.set_total(spec_.bytes);
}

void WeightFetch::stop() {
  stopping_ = true;
  if (running_ != nullptr) running_->stop();
  wake_.notify();
}

net::Task<void> WeightFetch::wait(Duration duration) {
  if (go_on()) co_await wake_.wait(duration);
}

net::Task<void> WeightFetch::run() {
  while (go_on()) {
    hold_ = settings_.look_again;
    Result<CacheFolder> folder = CacheFolder::open(settings_.cache);
    if (!folder.ok()) {
      board_.set(WeightsPhase::kFailed, folder.error().message);
      hold_ = settings_.retry.pause_max;
    } else {
      if (hold_published(*folder)) co_return;
      Result<std::optional<FileHandle>> lock = try_lock_alone(folder->lock_of(spec_.sha256));
      if (!lock.ok()) {
        board_.set(WeightsPhase::kFailed, lock.error().message);
        hold_ = settings_.retry.pause_max;
      } else if (!lock->has_value()) {
        show_other(*folder);
      } else {
        const bool held = hold_published(*folder) || co_await bring(*folder);
        if (held) co_return;
      }
    }
    co_await wait(hold_);
  }
}

bool WeightFetch::hold_published(const CacheFolder& folder) {
  Result<std::optional<FileHandle>> file = folder.use(spec_.sha256);
  if (!file.ok()) {
    log_warn("weights cannot be opened", {{"error", file.error().message}});
    return false;
  }
  if (!file->has_value()) return false;
  held_ = *std::move(*file);
  board_.set(WeightsPhase::kReady, "the weights are in the cache");
  return true;
}

void WeightFetch::show_other(const CacheFolder& folder) {
  const std::int64_t total = folder.read_note(spec_.sha256).total;
  if (total > 0) board_.set_total(total);
  board_.set_done(folder.part_bytes(spec_.sha256));
  board_.set(WeightsPhase::kWaiting, "another pod of this node downloads the same weights");
}

net::Task<bool> WeightFetch::bring(CacheFolder folder) {
  mismatched_ = false;
  while (go_on()) {
    const Url url = spec_.urls[retry_.mirror % spec_.urls.size()];
    ++attempts_;
    const DownloadEnd end = co_await attempt(folder);
    if (end.end == AttemptEnd::kComplete) co_return true;
    if (end.end == AttemptEnd::kStopped || !go_on()) co_return false;
    const double chance = random_unit(entropy_seed(), static_cast<std::uint64_t>(attempts_));
    const RetryStep step = retry_step(retry_, end.end, end.progress, end.retry_after,
                                      spec_.urls.size(), chance, settings_.retry);
    retry_ = step.state;
    announce(step, end, url);
    if (step.move == NextMove::kHold) {
      hold_ = step.wait;
      co_return false;
    }
    if (step.move == NextMove::kPause) co_await wait(step.wait);
  }
  co_return false;
}

void WeightFetch::announce(const RetryStep& step, const DownloadEnd& end, const Url& url) {
  std::string message = url.shown() + ": " + end.why;
  if (end.end == AttemptEnd::kNoSpace) message = end.why;
  if (step.move == NextMove::kHold) {
    message += "; next try in " + seconds_text(step.wait);
    board_.set(WeightsPhase::kFailed, message);
    log_error("weights not fetched", {{"error", message}, {"sha256", spec_.sha256}});
    return;
  }
  if (step.move == NextMove::kPause) message += "; next try in " + seconds_text(step.wait);
  board_.set(WeightsPhase::kFetching, message);
  log_warn("weights not fetched yet", {{"error", message}, {"sha256", spec_.sha256}});
}

Status WeightFetch::make_room(const CacheFolder& folder, std::int64_t bytes) {
  const RoomNeed need{.bytes = bytes,
                      .quota_bytes = settings_.quota_bytes,
                      .used_bytes = folder.used_bytes(),
                      .free_bytes = folder.free_bytes(),
                      .spare_bytes = settings_.spare_bytes};
  const RoomPlan plan = plan_room(folder.entries(spec_.sha256), need);
  if (!plan.problem.empty()) {
    return Error{Code::kResourceExhausted,
                 "the model cache " + folder.path() + " has " + plan.problem};
  }
  for (const CacheEntry& entry : plan.evict) {
    const bool gone = folder.evict(entry);
    log_info("weights taken out of the cache",
             {{"sha256", entry.digest}, {"bytes", entry.bytes}, {"gone", gone}});
  }
  return ok_status();
}

DownloadJob WeightFetch::job_for(const CacheFolder& folder, const PartNote& note) {
  const Url& url = spec_.urls[retry_.mirror % spec_.urls.size()];
  DownloadJob job;
  job.url = url;
  job.ask = {.offset = 0,
             .note = note,
             .source = sha256_hex(url.to_string()),
             .expected_bytes = spec_.bytes};
  job.go_on = [this] { return go_on(); };
  job.make_room = [this, folder](std::int64_t missing) -> Status {
    TRY_OK(make_room(folder, missing));
    board_.set(WeightsPhase::kFetching, "weights are being downloaded");
    return ok_status();
  };
  job.accept = [this, folder](const PartNote& known) {
    if (known.total > 0) board_.set_total(known.total);
    return folder.write_note(spec_.sha256, known);
  };
  job.moved = [this](std::int64_t done) { board_.set_done(done); };
  return job;
}

net::Task<DownloadEnd> WeightFetch::attempt(CacheFolder folder) {
  const Url url = spec_.urls[retry_.mirror % spec_.urls.size()];
  board_.set_source(url.shown());
  if (folder.part_bytes(spec_.sha256) > 0) {
    board_.set(WeightsPhase::kVerifying, "the part that is there is being read");
  }
  Result<PartFile> part = PartFile::open(folder.part_of(spec_.sha256), [this] { return go_on(); });
  if (!part.ok()) {
    const bool stopped = part.error().code == Code::kCancelled;
    co_return DownloadEnd{.end = stopped ? AttemptEnd::kStopped : AttemptEnd::kRetry,
                          .why = part.error().message};
  }
  const PartNote note = folder.read_note(spec_.sha256);
  const bool is_odd = part->bytes() > 0 && !content_problem(part->head()).empty();
  const bool is_longer = note.total >= 0 && part->bytes() > note.total;
  if (is_odd || is_longer) {
    folder.drop_part(spec_.sha256);
    co_return DownloadEnd{.end = AttemptEnd::kAnew, .why = "what was there was no part of it"};
  }
  const bool was_resumed = part->bytes() > 0;
  board_.set_done(part->bytes());
  if (note.total <= 0 || part->bytes() < note.total) {
    Download download(executor_, settings_.download, clock_, job_for(folder, note), *part);
    running_ = &download;
    DownloadEnd end = co_await download.run();
    running_ = nullptr;
    if (end.end == AttemptEnd::kAnew) folder.drop_part(spec_.sha256);
    if (end.end != AttemptEnd::kComplete) co_return end;
  }
  co_return judge_digest(folder, *part, was_resumed);
}

DownloadEnd WeightFetch::judge_digest(const CacheFolder& folder, PartFile& part, bool was_resumed) {
  board_.set(WeightsPhase::kVerifying, "the weights are being verified");
  const std::int64_t bytes = part.bytes();
  const std::string digest = part.digest();
  if (digest != spec_.sha256) {
    folder.drop_part(spec_.sha256);
    const std::string why = "wrong SHA-256: expected " + spec_.sha256 + ", the " +
                            std::to_string(bytes) + " bytes have " + digest;
    // Bytes from before may be at fault; those of one download are the server's.
    const bool once_more = was_resumed && !std::exchange(mismatched_, true);
    return {.end = once_more ? AttemptEnd::kAnew : AttemptEnd::kRefused, .why = why};
  }
  const Status published = folder.publish(spec_.sha256, part.handle());
  if (!published.ok()) return {.end = AttemptEnd::kRetry, .why = published.error().message};
  held_ = std::move(part).release();
  board_.set_total(bytes);
  board_.set_done(bytes);
  board_.set(WeightsPhase::kReady, "the weights are in the cache");
  log_info("weights fetched", {{"sha256", digest}, {"bytes", bytes}});
  return {.end = AttemptEnd::kComplete};
}

}  // namespace kantha::noded
