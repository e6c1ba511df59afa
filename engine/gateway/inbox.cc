#include "engine/gateway/inbox.h"

#include <string>
#include <utility>

namespace kantha::gateway {
namespace {

/// A further sample finds its prompt computed.
std::int64_t tokens_of(const sched::GenerateSpec& spec) {
  if (spec.fork_of) return 1;
  return static_cast<std::int64_t>(spec.prompt.size() + spec.resumed.size());
}

Error stopping() { return unavailable("the engine is stopping"); }

}  // namespace

Inbox::Inbox(EngineLimits limits) : limits_(limits) {}

/// At most as many looks as the next step can start.
QueueNumbers Inbox::queue() const {
  const auto fresh = static_cast<std::int64_t>(received_.size() + requests_.size());
  QueueNumbers queue{.requests_waiting = stats_.requests_waiting + fresh,
                     .tokens_waiting = stats_.waiting_tokens + received_tokens_ + request_tokens_,
                     .tokens_per_second = stats_.prefill_tokens_per_second};
  StepStarts starts(limits_, stats_);
  for (std::int64_t i = 0; i < fresh; ++i) {
    const auto place = static_cast<std::size_t>(i);
    const std::int64_t tokens = place < received_.size()
                                    ? received_[place]
                                    : tokens_of(requests_[place - received_.size()].spec);
    if (!starts.take(tokens)) return queue;
    --queue.requests_waiting;
    queue.tokens_waiting -= tokens;
  }
  queue.starts_left = starts.left();
  queue.start_tokens_left = starts.tokens_left();
  return queue;
}

Status Inbox::precheck(QueueDemand demand) const {
  const std::lock_guard lock(mutex_);
  if (closed_) return stopping();
  return check_queue(limits_, queue(), demand);
}

Status Inbox::submit(sched::GenerateSpec spec, std::shared_ptr<sched::EventSink> sink,
                     TimePoint now) {
  CHECK(sink != nullptr, "events need a receiver");
  TRY_OK(check_spec(limits_, spec));
  const std::int64_t tokens = tokens_of(spec);
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return stopping();
    if (open_.contains(spec.id)) {
      return Error{.code = Code::kAlreadyExists,
                   .message = "request " + std::to_string(spec.id.value) + " is open already"};
    }
    const bool sample = spec.fork_of && open_.contains(*spec.fork_of);
    if (!sample) TRY_OK(check_queue(limits_, queue(), {.prompt_tokens = tokens}));
    if (open_.empty()) busy_since_ = now;
    open_.emplace(spec.id, false);
    requests_.push_back({std::move(spec), std::move(sink)});
    request_tokens_ += tokens;
  }
  arrived_.notify_one();
  return ok_status();
}

void Inbox::abort(RequestId id) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(id);
    if (found == open_.end() || found->second) return;
    found->second = true;
    aborts_.push_back(id);
  }
  arrived_.notify_one();
}

void Inbox::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  arrived_.notify_one();
}

EngineStats Inbox::stats() const {
  const std::lock_guard lock(mutex_);
  EngineStats stats = stats_;
  stats.requests_waiting += static_cast<std::int32_t>(received_.size() + requests_.size());
  stats.waiting_tokens += received_tokens_ + request_tokens_;
  stats.prompt_tokens_queued_max =
      prompt_tokens_queued_max(limits_, stats_.prefill_tokens_per_second);
  if (!open_.empty()) stats.busy_since = busy_since_;
  return stats;
}

Inbox::Delivery Inbox::receive(Duration patience) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return closed_ || !requests_.empty() || !aborts_.empty(); };
  if (patience > Duration::zero()) arrived_.wait_for(lock, patience, ready);
  // From here to the next report these wait at the scheduler.
  for (const Request& request : requests_) received_.push_back(tokens_of(request.spec));
  received_tokens_ += std::exchange(request_tokens_, 0);
  return {.requests = std::exchange(requests_, {}),
          .aborts = std::exchange(aborts_, {}),
          .closed = closed_};
}

void Inbox::publish(const EngineReport& report) {
  const std::lock_guard lock(mutex_);
  stats_ = report.stats;
  received_.clear();
  received_tokens_ = 0;
  for (const RequestId id : report.finished) open_.erase(id);
}

}  // namespace kantha::gateway
