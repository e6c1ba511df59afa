#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/net/task_group.h"
#include "operator/kube/api_client.h"
#include "operator/runtime/watch_sink.h"

/// Keeps one store equal to what the API server holds of one kind. One executor.
///
/// The decisions are watcher_step (pure): Empty → Listing or Streaming (WatchList) → Listed →
/// Watching; 410 in either form → Empty; a cut → Listed, resumed from the last resourceVersion;
/// back-off 0.8 s doubling to 30 s with jitter, over after two quiet minutes. This class moves
/// bytes.
namespace kantha::runtime {

struct WatcherOptions {
  kube::Resource resource;
  std::string name_space = {};  ///< empty: all
  std::string label_selector = {};
  std::size_t pending_objects_max = 200'000;  ///< of one list, then it fails
};

class Watcher {
 public:
  /// `seed` decides the jitter of its back-off.
  Watcher(boost::asio::any_io_executor executor, const Clock& clock, std::uint64_t seed,
          kube::ApiClient& client, MetricRegistry& metrics, WatcherOptions options, WatchSink sink);
  ~Watcher();
  net::Task<void> run();
  void stop();
  /// "Watching at 1234 since …", for the debug page.
  std::string description() const;
  /// Set while the last attempt was refused for a reason that retrying alone will not mend (403,
  /// 404 of the kind); the operator's own condition and events name it.
  std::optional<Error> trouble() const;

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace kantha::runtime
