#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/net/task_group.h"
#include "operator/kube/transport.h"
#include "tests/operator/runtime/lamp_server.h"

/// A LampServer behind HTTP, in virtual time, with faults that a test switches on. One watch at a
/// time. One executor.
namespace kantha::runtime {

class LampTransport final : public kube::Transport {
 public:
  /// What goes wrong until the test says otherwise.
  struct Faults {
    bool is_down = false;          ///< nobody takes a request, and open watches are cut
    bool is_silent = false;        ///< watches open and then carry nothing
    bool ends_at_once = false;     ///< watches open and end
    int refuse_status = 0;         ///< every request is refused with it
    std::string retry_after = {};  ///< with refuse_status
    /// One shot: the next line of the watch is sent as this (half of it, or an ERROR event).
    std::optional<std::string> instead_of_next_line = {};
    bool cuts_after_that = false;
  };

  LampTransport(boost::asio::any_io_executor executor, const Clock& clock, LampServer& server)
      : clock_(clock), server_(server), news_(std::make_shared<net::Notify>(executor)) {}

  net::Task<Result<net::HttpResponse>> call(net::HttpRequest request, Duration timeout,
                                            std::size_t body_bytes_max) override;
  net::Task<Result<std::unique_ptr<net::ResponseStream>>> open(net::HttpRequest request,
                                                               Duration header_timeout) override;
  void close() override {}

  /// The server or the faults changed: the open watch looks again.
  void changed() { news_->notify(); }
  std::size_t request_count() const { return requests.size(); }

  Faults faults;
  std::vector<net::HttpRequest> requests;

 private:
  class Stream;
  std::optional<net::HttpResponse> refusal() const;
  WatchDeed deed_of(const net::HttpRequest& request) const;

  const Clock& clock_;
  LampServer& server_;
  std::shared_ptr<net::Notify> news_;
};

}  // namespace kantha::runtime
