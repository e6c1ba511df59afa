#include "operator/runtime/workqueue.h"

#include <algorithm>

#include "base/check.h"

namespace kantha::runtime {

void WorkQueue::add(const kube::ObjectKey& key, TimePoint now) {
  release_due(now);
  enqueue(key, now);
}

void WorkQueue::add_after(const kube::ObjectKey& key, Duration delay, TimePoint now) {
  release_due(now);
  if (delay <= Duration::zero()) return enqueue(key, now);
  if (dirty_.contains(key)) return;  // it runs sooner than that, and says anew what comes next
  const TimePoint at = now + delay;
  if (const auto known = delays_.find(key); known != delays_.end()) {
    if (known->second <= at) return;
    drop_delay(key);
  }
  delays_.emplace(key, at);
  due_.emplace(at, key);
}

void WorkQueue::add_failed(const kube::ObjectKey& key, TimePoint now, Duration at_least) {
  constexpr int kDoublingsMax = 40;  // 5 ms · 2^40 is beyond every cap
  const int failures = failures_[key]++;
  Duration delay = policy_.first;
  for (int i = 0; i < std::min(failures, kDoublingsMax) && delay < policy_.max; ++i) delay *= 2;
  add_after(key, std::max(std::min(delay, policy_.max), at_least), now);
}

int WorkQueue::failure_count(const kube::ObjectKey& key) const {
  const auto found = failures_.find(key);
  return found == failures_.end() ? 0 : found->second;
}

void WorkQueue::forget(const kube::ObjectKey& key) { failures_.erase(key); }

std::optional<kube::ObjectKey> WorkQueue::take(TimePoint now) {
  release_due(now);
  if (queue_.empty()) return std::nullopt;
  auto [key, since] = std::move(queue_.front());
  queue_.pop_front();
  last_wait_ = now - since;
  dirty_.erase(key);
  const bool is_new = processing_.insert(key).second;
  CHECK(is_new, "a key is with one worker at most");
  return std::move(key);
}

void WorkQueue::done(const kube::ObjectKey& key, TimePoint now) {
  release_due(now);
  const auto erased = processing_.erase(key);
  CHECK(erased == 1, "done() follows take()");
  if (dirty_.contains(key)) queue_.emplace_back(key, now);
}

std::optional<TimePoint> WorkQueue::next_time(TimePoint now) const {
  if (!queue_.empty()) return now;
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

Duration WorkQueue::oldest_wait(TimePoint now) const {
  return queue_.empty() ? Duration::zero() : now - queue_.front().second;
}

void WorkQueue::enqueue(const kube::ObjectKey& key, TimePoint since) {
  drop_delay(key);
  if (!dirty_.insert(key).second) return;
  if (!processing_.contains(key)) queue_.emplace_back(key, since);
}

void WorkQueue::drop_delay(const kube::ObjectKey& key) {
  const auto known = delays_.find(key);
  if (known == delays_.end()) return;
  due_.erase({known->second, key});
  delays_.erase(known);
}

void WorkQueue::release_due(TimePoint now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const auto [at, key] = *due_.begin();
    enqueue(key, at);
  }
}

}  // namespace kantha::runtime
