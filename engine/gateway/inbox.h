#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/gateway/admission.h"
#include "engine/gateway/engine_port.h"
#include "engine/sched/generate_spec.h"
#include "engine/sched/token_event.h"

/// The one place where I/O threads and the engine thread meet on the way in.
namespace kantha::gateway {

/// What the engine thread tells after a step.
struct EngineReport {
  /// Of the engine's own structures: what lies in the inbox is not in it.
  EngineStats stats;
  std::span<const RequestId> finished = {};
};

/// Requests and aborts in, numbers out, under one lock that is never held for longer than a few
/// copies: a step of the engine thread does not delay callers. Bounded by the queue limits; aborts
/// are at most one per open request; further samples of an open request (fork_of) come in with it.
/// Numbers are exact at every moment: a request is counted as
/// waiting from submit on, in the inbox or at the scheduler, without a gap. Thread-safe; receive
/// and publish belong to one consumer.
class Inbox {
 public:
  struct Request {
    sched::GenerateSpec spec;
    std::shared_ptr<sched::EventSink> sink;
  };
  /// What came in, to be taken in the order requests, aborts.
  struct Delivery {
    std::vector<Request> requests;
    std::vector<RequestId> aborts;
    bool closed = false;  ///< stop: end everything
  };

  explicit Inbox(EngineLimits limits);

  const EngineLimits& limits() const { return limits_; }
  /// As in EnginePort. kUnavailable when closed; kAlreadyExists for an id that is open.
  Status precheck(QueueDemand demand) const;
  /// `now` is when: EngineStats::busy_since may become it.
  Status submit(sched::GenerateSpec spec, std::shared_ptr<sched::EventSink> sink,
                TimePoint now = {});
  void abort(RequestId id);
  EngineStats stats() const;
  /// Refuses what comes from now on and wakes the consumer.
  void close();

  /// Takes everything; waits up to `patience` for something to take.
  Delivery receive(Duration patience);
  /// Replaces the numbers and forgets finished ids.
  void publish(const EngineReport& report);

 private:
  // Lock held.
  QueueNumbers queue() const;

  const EngineLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Request> requests_;
  std::int64_t request_tokens_ = 0;     ///< of requests_
  std::vector<std::int64_t> received_;  ///< tokens of each taken since the last report
  std::int64_t received_tokens_ = 0;
  std::vector<RequestId> aborts_;
  std::unordered_map<RequestId, bool> open_;  ///< not finished → abort asked for
  TimePoint busy_since_{};                    ///< when open_ last ceased to be empty
  bool closed_ = false;
  EngineStats stats_;  ///< of the last report
};

}  // namespace kantha::gateway
