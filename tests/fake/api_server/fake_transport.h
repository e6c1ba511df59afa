#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "operator/kube/transport.h"
#include "tests/fake/api_server/call_faults.h"
#include "tests/fake/api_server/fake_api_server.h"

/// The fake API server as a kube::Transport: in process, on real or virtual time, with faults. One
/// for each client (an operator's incarnation). One executor; the server must outlive it.
namespace kantha::fake {

class FakeTransport final : public kube::Transport {
 public:
  /// `agent` is the User-Agent of requests that have none.
  FakeTransport(FakeApiServer& server, std::string agent);
  ~FakeTransport() override;

  net::Task<Result<net::HttpResponse>> call(net::HttpRequest request, Duration timeout,
                                            std::size_t body_bytes_max) override;
  net::Task<Result<std::unique_ptr<net::ResponseStream>>> open(net::HttpRequest request,
                                                               Duration header_timeout) override;
  void close() override;

  void set_faults(FaultRule rule);
  void set_watch_faults(WatchFaultRule rule);
  /// How long every exchange takes each way.
  void set_latency(Duration latency);
  /// Nothing goes through any more, and open watches are silent, until it is lifted: a partition.
  void set_cut_off(bool cut_off);
  /// Called once when a crash fault struck; from then on every call is kCancelled for ever.
  void on_crash(std::function<void()> listener);
  bool is_crashed() const;

  ReadView& view();
  /// Calls so far, watches included.
  std::uint64_t call_count() const;

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace kantha::fake
