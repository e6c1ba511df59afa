#pragma once

#include <string>

#include "base/clock.h"
#include "base/net/task_group.h"
#include "operator/kube/api_client.h"

/// Kubernetes Events about objects, for people. One executor.
///
/// Never blocks and never fails its caller: a bounded queue is written by one task; a full queue
/// drops and counts. Equal events are counted up on one object (PATCH) within ten minutes; more
/// than 25 in a burst for one object pass one in five minutes (as client-go's recorder does).
namespace kantha::kube {

struct EventSubject {
  Resource resource;
  ObjectKey key;
  std::string uid;
};

enum class EventKind : std::uint8_t { kNormal, kWarning };

class EventRecorder {
 public:
  /// `component` is source.component and reportingComponent; `instance` the pod's name.
  EventRecorder(boost::asio::any_io_executor executor, const Clock& clock, ApiClient& client,
                std::string component, std::string instance);
  ~EventRecorder();

  /// `reason` is CamelCase; `message` is cut at 1,024 bytes.
  void record(EventSubject subject, EventKind kind, std::string reason, std::string message);
  /// Writes until stop() and the queue's end (or its deadline).
  net::Task<void> run();
  void stop();

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace kantha::kube
