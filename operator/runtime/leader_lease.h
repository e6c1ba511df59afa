#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/net/task_group.h"
#include "operator/kube/api_client.h"
#include "operator/runtime/lease_step.h"

/// Whether this process leads, by a Lease. One executor.
///
/// Flow: look → take when free or expired → renew → release at the end.
/// Guarantees: at most one process believes to lead at a time, as long as no clock runs faster than
/// another by more than duration/renew_deadline (1.5); after renew_deadline without a renewal it
/// stops leading by its own clock before anybody else may take over.
/// It does not fence: a write that is under way when the lease ends may still land. So every write
/// carries its own precondition, and is_leading() is asked just before it.
/// Assumptions: only times observed here count; the record's times are never compared with ours.
/// A Lease that is deleted while its holder leads and before a new process first looks lets both
/// lead for up to `retry`. The client should be one for leases alone, with a call timeout below
/// half of renew_deadline, so that one call that hangs does not cost the lead.
namespace kantha::runtime {

struct LeaseOptions {
  kube::ObjectKey key = {};
  std::string identity = {};  ///< pod name and a random part
  LeaseTimes times = {};
  std::uint64_t seed = 0;  ///< of the jitter
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
  const std::string& identity() const;

  /// Contends until stop(); then, when leading, gives the lease back (call after all writers
  /// ended). Once.
  net::Task<void> run();
  void stop();

 private:
  struct Body;
  std::shared_ptr<Body> body_;
  /// Announces the end of the lead in time, whatever call is under way.
  std::unique_ptr<net::TaskGroup> tasks_;
};

}  // namespace kantha::runtime
