#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/net/task_group.h"
#include "base/result.h"
#include "operator/runtime/workqueue.h"

/// Workers around a queue: key → reconcile → again after so long. One executor.
///
/// A key carries no reason: reconcile looks at what is there. Errors are retried with the key's
/// back-off and logged once per change of message; Terminal errors wait for the next change of the
/// object. The gate (leading, synced) holds workers, never watchers.
namespace kantha::runtime {

/// When to look at the key again without being told.
struct Requeue {
  std::optional<Duration> after = {};  ///< nullopt: only when something changes
};

/// Error::reason of an error that no retry can mend.
inline constexpr const char* kTerminal = "Terminal";

struct ControllerOptions {
  std::string name;  ///< label of its metrics
  int workers = 4;
  RetryPolicy retry = {};
  Duration reconcile_timeout = std::chrono::seconds(60);  ///< longer ones are counted and logged
};

class Controller {
 public:
  using Reconcile = std::function<net::Task<Result<Requeue>>(kube::ObjectKey)>;
  /// True: workers may take keys now.
  using Gate = std::function<bool()>;

  Controller(boost::asio::any_io_executor executor, const Clock& clock, MetricRegistry& metrics,
             ControllerOptions options, Reconcile reconcile, Gate gate);
  ~Controller();

  void trigger(const kube::ObjectKey& key);
  void trigger_after(const kube::ObjectKey& key, Duration delay);
  /// The gate may have opened or closed.
  void gate_changed();

  /// Runs the workers until stop() and until what they hold is done.
  net::Task<void> run();
  void stop();

  const WorkQueue& queue() const;
  /// Keys whose last reconcile failed, with the error, for the debug page.
  std::vector<std::pair<kube::ObjectKey, std::string>> failures() const;

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace kantha::runtime
