#include "operator/kube/transport_cpprest.h"

#include <set>
#include <utility>

#include "base/log.h"
#include "operator/kube/cpprest_exchange.h"
#include "operator/kube/server_session.h"
#include "operator/kube/transport_factory.h"

namespace kantha::kube {
namespace {

using OpenResult = Result<std::unique_ptr<net::ResponseStream>>;

/// The SDK's pool of connections is known to get stuck after failures: then it is made anew.
constexpr int kFailuresMax = 3;
/// A call's connection that is silent for so long is none.
constexpr Duration kCallIdleTimeout = std::chrono::minutes(5);
/// Watches are silent between bookmarks, and end by themselves after five to ten minutes.
constexpr Duration kWatchIdleTimeout = std::chrono::minutes(30);

/// A link that is made anew when it seems stuck.
class RenewableLink {
 public:
  explicit RenewableLink(Duration idle_timeout) : idle_timeout_(idle_timeout) {}

  void renew() { link_.reset(); }
  std::shared_ptr<CpprestLink> get(const ServerSession& session) {
    if (!link_) {
      const ServerUrl& url = session.url();
      link_ = std::make_shared<CpprestLink>(CpprestSettings{
          .base_url = (url.is_tls ? "https://" : "http://") + url.endpoint.to_string(),
          .host_header = session.tls().server_name,
          .tls = session.tls(),
          .idle_timeout = idle_timeout_});
      failures_ = 0;
    }
    return link_;
  }
  void judge(bool is_success) {
    failures_ = is_success ? 0 : failures_ + 1;
    if (failures_ < kFailuresMax) return;
    log_warn("calls of the API server failed in a row: starting with new connections",
             {{"failures", failures_}});
    renew();
  }

 private:
  Duration idle_timeout_;
  std::shared_ptr<CpprestLink> link_;
  int failures_ = 0;
};

/// What a transport and its streams share; a stream may outlive its transport.
struct Shared {
  Shared(boost::asio::any_io_executor on, ServerSession with)
      : executor(on), gate(std::make_shared<ExecutorGate>(on)), session(std::move(with)) {}

  void refresh() {
    if (!session.refresh()) return;
    calls.renew();
    watches.renew();
  }

  boost::asio::any_io_executor executor;
  std::shared_ptr<ExecutorGate> gate;
  ServerSession session;
  RenewableLink calls{kCallIdleTimeout};
  RenewableLink watches{kWatchIdleTimeout};
  bool is_closed = false;
  std::set<std::shared_ptr<CpprestExchange>> exchanges = {};
};

Error closed() { return {Code::kCancelled, "the transport is closed"}; }

/// An exchange that close() finds, and that ends with this.
class CpprestStream final : public net::ResponseStream {
 public:
  CpprestStream(std::shared_ptr<Shared> shared, CpprestWakes wakes)
      : shared_(std::move(shared)),
        exchange_(std::make_shared<CpprestExchange>(shared_->executor, shared_->gate, wakes)) {
    shared_->exchanges.insert(exchange_);
  }
  ~CpprestStream() override {
    exchange_->cancel();
    shared_->exchanges.erase(exchange_);
  }
  CpprestStream(const CpprestStream&) = delete;
  CpprestStream& operator=(const CpprestStream&) = delete;

  const std::shared_ptr<CpprestExchange>& exchange() const { return exchange_; }
  int status() const override { return exchange_->status(); }
  const net::Headers& headers() const override { return exchange_->headers(); }
  net::Task<Result<std::string>> read(Duration idle_timeout) override {
    return CpprestExchange::read(exchange_, idle_timeout);
  }
  void cancel() override { exchange_->cancel(); }

 private:
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<CpprestExchange> exchange_;
};

net::Task<OpenResult> open_stream(std::shared_ptr<Shared> shared, CpprestWakes wakes,
                                  net::HttpRequest request, Duration header_timeout) {
  if (shared->is_closed) co_return closed();
  shared->refresh();
  RenewableLink* link = wakes == CpprestWakes::kAtEnd ? &shared->calls : &shared->watches;
  auto stream = std::make_unique<CpprestStream>(shared, wakes);
  net::HttpRequest complete = shared->session.complete(std::move(request));
  // Held by `shared`, which this frame holds.
  std::shared_ptr<CpprestLink> current = link->get(shared->session);
  const Status begun = co_await CpprestExchange::begin(stream->exchange(), std::move(current),
                                                       std::move(complete), header_timeout);
  if (shared->is_closed) co_return closed();
  OpenResult opened = unavailable("not begun");
  if (begun) {
    opened = std::unique_ptr<net::ResponseStream>(std::move(stream));
  } else {
    opened = Error(begun.error()).with_context(shared->session.url().endpoint.to_string());
  }
  link->judge(opened.ok());
  shared->session.judge(opened);
  co_return opened;
}

net::Task<Result<net::HttpResponse>> call_whole(std::shared_ptr<Shared> shared,
                                                net::HttpRequest request, Duration timeout,
                                                std::size_t body_bytes_max) {
  const Clock& clock = shared->session.clock();
  const TimePoint deadline = clock.now() + timeout;
  CO_TRY(
      std::unique_ptr<net::ResponseStream> stream,
      co_await open_stream(std::move(shared), CpprestWakes::kAtEnd, std::move(request), timeout));
  co_return co_await read_whole(std::move(stream), clock, deadline, body_bytes_max);
}

class CpprestTransport final : public Transport {
 public:
  explicit CpprestTransport(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  ~CpprestTransport() override {
    close();
    shared_->gate->shut();
  }
  CpprestTransport(const CpprestTransport&) = delete;
  CpprestTransport& operator=(const CpprestTransport&) = delete;

  net::Task<Result<net::HttpResponse>> call(net::HttpRequest request, Duration timeout,
                                            std::size_t body_bytes_max) override {
    return call_whole(shared_, std::move(request), timeout, body_bytes_max);
  }
  net::Task<OpenResult> open(net::HttpRequest request, Duration header_timeout) override {
    return open_stream(shared_, CpprestWakes::kEachPart, std::move(request), header_timeout);
  }
  void close() override {
    shared_->is_closed = true;
    const auto exchanges = shared_->exchanges;
    for (const auto& exchange : exchanges) exchange->cancel();
  }

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace

Result<std::unique_ptr<Transport>> make_cpprest_transport(boost::asio::any_io_executor executor,
                                                          const Clock& clock,
                                                          const ClusterConfig& config) {
  TRY(ServerSession session, ServerSession::begin(clock, config));
  if (std::string reason = why_not_cpprest(config); !reason.empty()) {
    return unimplemented(std::move(reason), "server");
  }
  std::unique_ptr<Transport> transport = std::make_unique<CpprestTransport>(
      std::make_shared<Shared>(std::move(executor), std::move(session)));
  return transport;
}

}  // namespace kantha::kube
