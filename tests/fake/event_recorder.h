#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "engine/sched/token_event.h"

/// Keeps what an engine sends.
namespace kantha::fake {

/// What one request has received so far.
struct Received {
  std::vector<TokenId> tokens;
  std::optional<sched::FinishReason> finish;
  std::string error;
  std::vector<sched::TokenEvent> events;
};

/// A sink for any number of requests. Thread-safe.
class EventRecorder final : public sched::EventSink {
 public:
  void on_events(std::vector<sched::TokenEvent> events) override {
    const std::lock_guard lock(mutex_);
    ++calls_;
    for (sched::TokenEvent& event : events) {
      Received& received = of_[event.id];
      if (received.finish) after_finish_ = true;
      if (event.token) received.tokens.push_back(*event.token);
      if (event.finish) {
        received.finish = event.finish;
        ++finished_;
      }
      if (!event.error.empty()) received.error = event.error;
      received.events.push_back(std::move(event));
    }
    changed_.notify_all();
  }

  Received of(RequestId id) const {
    const std::lock_guard lock(mutex_);
    const auto found = of_.find(id);
    return found == of_.end() ? Received{} : found->second;
  }
  std::size_t finished() const {
    const std::lock_guard lock(mutex_);
    return finished_;
  }
  std::size_t calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  /// An event came after a request's last one.
  bool after_finish() const {
    const std::lock_guard lock(mutex_);
    return after_finish_;
  }
  /// Waits until `count` requests have ended; false after 30 s.
  bool wait_finished(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return finished_ >= count; });
  }
  /// Waits until `id` has `count` tokens or has ended; false after 30 s.
  bool wait_tokens(RequestId id, std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] {
      return of_[id].tokens.size() >= count || of_[id].finish.has_value();
    });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<RequestId, Received> of_;
  std::size_t finished_ = 0;
  std::size_t calls_ = 0;
  bool after_finish_ = false;
};

}  // namespace kantha::fake
