#include "engine/gateway/inbox.h"

#include <string>
#include <utility>

namespace kantha::gateway {
namespace {

std::int64_t tokens_of(const sched::GenerateSpec& spec) {
  return static_cast<std::int64_t>(spec.prompt.size() + spec.resumed.size());
}

Error stopping() { return unavailable("the engine is stopping"); }

}  // namespace

Inbox::Inbox(EngineLimits limits) : limits_(limits) {}

QueueNumbers Inbox::queue() const {
  return {.requests_waiting = stats_.requests_waiting + static_cast<std::int64_t>(requests_.size()),
          .tokens_waiting = stats_.waiting_tokens + request_tokens_,
          .tokens_per_second = tokens_per_second_};
}

Status Inbox::precheck(std::int64_t prompt_tokens) const {
  const std::lock_guard lock(mutex_);
  if (closed_) return stopping();
  return check_queue(limits_, queue(), prompt_tokens);
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
    TRY_OK(check_queue(limits_, queue(), tokens));
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
  stats.requests_waiting += static_cast<std::int32_t>(requests_.size());
  stats.waiting_tokens += request_tokens_;
  if (!open_.empty()) stats.busy_since = busy_since_;
  return stats;
}

Inbox::Delivery Inbox::receive(Duration patience) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return closed_ || !requests_.empty() || !aborts_.empty(); };
  if (patience > Duration::zero()) arrived_.wait_for(lock, patience, ready);
  // From here to the next report these wait at the scheduler.
  stats_.requests_waiting += static_cast<std::int32_t>(requests_.size());
  stats_.waiting_tokens += std::exchange(request_tokens_, 0);
  return {.requests = std::exchange(requests_, {}),
          .aborts = std::exchange(aborts_, {}),
          .closed = closed_};
}

void Inbox::publish(const EngineReport& report) {
  const std::lock_guard lock(mutex_);
  stats_ = report.stats;
  tokens_per_second_ = report.tokens_per_second;
  for (const RequestId id : report.finished) open_.erase(id);
}

}  // namespace kantha::gateway
