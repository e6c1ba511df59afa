#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/net/task_group.h"
#include "base/result.h"
#include "operator/runtime/workqueue.h"

/// Workers around a queue: key → reconcile → again after so long. One executor.
///
/// A key carries no reason: reconcile looks at what is there. Errors are retried with the key's
/// back-off and logged once per change of message; Terminal errors wait for the next change of the
/// object; an exception is a failure like any other. The gate (leading, synced) holds workers,
/// never watchers.
/// Metrics, labelled by controller: kantha_operator_reconcile_seconds, …_reconcile_total{result},
/// …_reconcile_overdue_total, …_queue_wait_seconds, …_queue_keys{state}.
namespace kantha::runtime {

/// When to look at the key again without being told.
struct Requeue {
  std::optional<Duration> after = {};  ///< nullopt: only when something changes
};

/// Error::reason of an error that no retry can mend.
inline constexpr const char* kTerminal = "Terminal";

struct ControllerOptions {
  std::string name = {};  ///< label of its metrics
  int workers = 4;
  RetryPolicy retry = {};
  Duration reconcile_timeout = std::chrono::seconds(60);  ///< longer ones are counted and logged
  /// How long run() waits at stop for what the workers hold.
  Duration drain_timeout = std::chrono::seconds(30);
};

/// What a controller did so far; for the debug page.
struct ControllerCounts {
  std::uint64_t done = 0;        ///< reconciles that ended, in whichever way
  std::uint64_t failed = 0;      ///< of them with an error
  std::uint64_t exceptions = 0;  ///< of them with an exception
  std::uint64_t overdue = 0;     ///< of them after reconcile_timeout
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

  /// Runs the workers until stop() and until what they hold is done, but no longer than
  /// drain_timeout after it: a reconcile that hangs is then named in the log and left to the
  /// process's end (its coroutine must not be destroyed while it runs). Once.
  net::Task<void> run();
  void stop();

  const WorkQueue& queue() const;
  /// Keys whose last reconcile failed, with the error, ordered by name; for the debug page.
  std::vector<std::pair<kube::ObjectKey, std::string>> failures() const;
  /// Keys that workers hold, and for how long.
  std::vector<std::pair<kube::ObjectKey, Duration>> in_work() const;
  const ControllerCounts& counts() const;

 private:
  struct Body;
  std::shared_ptr<Body> body_;
  /// Not in Body, which the workers keep alive: owners outlive what they own.
  std::unique_ptr<net::TaskGroup> workers_;
};

}  // namespace kantha::runtime
