#pragma once

#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/net/http.h"
#include "base/net/task_group.h"

namespace kantha::noded {

struct HandoverPolicy {
  std::size_t prompts_max = 32;  ///< 0: nothing is handed over
  std::size_t at_once = 4;
  /// Nothing new is sent after this, and the pod's end waits no longer.
  Duration time_max = std::chrono::seconds(10);
};

/// A pod that leaves has the others compute what its users ask for most, each prompt at the pod
/// that will own it, before their requests come there. A few at a time, so that the others' own
/// users hardly notice; bounded by a count and a time. One executor.
class PrefixHandover {
 public:
  /// Has a prompt computed by whoever owns it now; false: nobody did.
  using Send = std::function<net::Task<bool>(net::HttpRequest)>;

  PrefixHandover(boost::asio::any_io_executor executor, const Clock& clock, HandoverPolicy policy);

  /// Begins to send the requests, in their order, for as long as `may_go_on` says so. Once only.
  void begin(std::vector<net::HttpRequest> requests, Send send, std::function<bool()> may_go_on);
  /// Until nothing is under way any more; what `send` awaits is cut off by nobody.
  net::Task<void> join() { return senders_.join(); }

  /// Nothing is left to wait for: all is handed over, or the time is up, or nothing ever began.
  bool is_over() const;
  std::int64_t computed() const { return computed_; }
  const HandoverPolicy& policy() const { return policy_; }

 private:
  net::Task<void> send_some();

  const Clock& clock_;
  HandoverPolicy policy_;
  net::TaskGroup senders_;
  std::vector<net::HttpRequest> requests_;
  std::size_t next_ = 0;
  Send send_;
  std::function<bool()> may_go_on_;
  TimePoint until_{};
  std::int64_t computed_ = 0;
};

}  // namespace kantha::noded
