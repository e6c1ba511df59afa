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
#include "operator/runtime/watcher_step.h"

/// Keeps one store equal to what the API server holds of one kind. One executor.
///
/// The decisions are watcher_step (pure): Empty → Listing or Streaming (WatchList) → Listed →
/// Watching; 410 in either form → Empty; a cut → Listed, resumed from the last resourceVersion;
/// back-off 0.8 s doubling to 30 s with jitter, over after two quiet minutes. This class moves
/// bytes. What fails is logged once per change of message and tried again for ever.
namespace kantha::runtime {

struct WatcherOptions {
  kube::Resource resource;
  std::string name_space = {};  ///< empty: all
  std::string label_selector = {};
  std::size_t pending_objects_max = 200'000;      ///< of one list, then it fails
  kube::Content content = kube::Content::kWhole;  ///< kMetadata where the store keeps no more
  kube::MemberNames unread = {};  ///< members that the store's decoder does not look at
};

class Watcher {
 public:
  /// `seed` decides the jitter of its back-off. The client, the clock, the metrics and what the
  /// sink refers to must outlive it; it must outlive its run().
  Watcher(boost::asio::any_io_executor executor, const Clock& clock, std::uint64_t seed,
          kube::ApiClient& client, MetricRegistry& metrics, WatcherOptions options, WatchSink sink);
  ~Watcher();
  /// Keeps the store equal until stop(), which ends a watch at once and a list when it is answered.
  net::Task<void> run();
  void stop();
  /// "Watching at 1234 since …", for the debug page.
  std::string description() const;
  /// The phase and the version, for the debug page's table.
  const WatchState& state() const;
  const WatcherOptions& options() const;
  /// Set while the last attempt was refused for a reason that retrying alone will not mend (403,
  /// 404 of the kind); the operator's own condition and events name it.
  std::optional<Error> trouble() const;

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace kantha::runtime
