#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/net/task_group.h"
#include "operator/kube/api_client.h"

/// Whether this process leads, by a Lease. One executor.
///
/// Flow: look → take when free or expired → renew → release at the end.
/// Guarantees: at most one process believes to lead at a time, as long as no clock runs faster than
/// another by more than duration/renew_deadline (1.5); after renew_deadline without a renewal it
/// stops leading by its own clock before anybody else may take over.
/// It does not fence: a write that is under way when the lease ends may still land. So every write
/// carries its own precondition, and is_leading() is asked just before it.
/// Assumptions: only times observed here count; the record's times are never compared with ours.
namespace kantha::runtime {

struct LeaseTimes {
  Duration duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry = std::chrono::seconds(2);
};

struct LeaseOptions {
  kube::ObjectKey key;
  std::string identity;  ///< pod name and a random part
  LeaseTimes times = {};
};

class LeaderLease {
 public:
  LeaderLease(boost::asio::any_io_executor executor, const Clock& clock, kube::ApiClient& client,
              LeaseOptions options);
  ~LeaderLease();

  /// True while it is certain that nobody else may lead. Reads the clock: call before each write.
  bool is_leading() const;
  /// Called on the executor when is_leading changes.
  void on_change(std::function<void(bool leading)> listener);
  /// Who leads, as the record said last; for the debug page.
  std::string holder() const;

  /// Contends until stop(); then, when leading, gives the lease back (call after all writers
  /// ended).
  net::Task<void> run();
  void stop();

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace kantha::runtime
