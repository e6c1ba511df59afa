#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/net/task_group.h"
#include "operator/kube/api_client.h"
#include "operator/kube/event_ledger.h"

/// Kubernetes Events about objects, for people. One executor.
///
/// Never blocks and never fails its caller: a bounded queue is written with at most four requests
/// at a time, never two about one Event object; a full queue drops and counts
/// (kantha_operator_events_dropped_total). Equal events are counted up on one object (PATCH) within
/// ten minutes; more than 25 in a burst for one object pass one in five minutes (as client-go's
/// recorder does; see event_ledger.h). A write that fails for want of a server is tried three
/// times. What else the client carries is the caller's choice: with a client and rate limiter of
/// its own the recorder takes no turn from other calls.
namespace kantha::kube {

class EventRecorder {
 public:
  /// `component` is source.component and reportingComponent; `instance` the pod's name.
  EventRecorder(boost::asio::any_io_executor executor, const Clock& clock, ApiClient& client,
                MetricRegistry& metrics, std::string component, std::string instance);
  ~EventRecorder();

  /// `reason` is CamelCase; `message` is cut at 1,024 bytes.
  void record(EventSubject subject, EventKind kind, std::string reason, std::string message);
  /// Writes until stop(), and what is queued then for five seconds more.
  net::Task<void> run();
  void stop();
  /// Events that were lost to a full queue, or that no server took.
  std::size_t dropped_count() const;
  /// Events that wait to be written.
  std::size_t queued_count() const;

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace kantha::kube
