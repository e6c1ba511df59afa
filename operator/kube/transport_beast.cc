#include "operator/kube/transport_beast.h"

#include <set>
#include <utility>

#include "base/net/http_client.h"
#include "operator/kube/server_session.h"

namespace kantha::kube {
namespace {

using OpenResult = Result<std::unique_ptr<net::ResponseStream>>;

class BeastStream;

/// What a transport and its streams share; a stream may outlive its transport.
struct Shared {
  Shared(boost::asio::any_io_executor executor, ServerSession with)
      : client(std::move(executor)), session(std::move(with)) {}

  /// Before each request.
  void refresh() {
    if (!session.refresh() || !session.url().is_tls) return;
    // The settings were tried when they were read, so that this gives a context.
    if (auto context = net::TlsContext::for_client(session.tls())) client.set_tls(*context);
  }

  net::HttpClient client;
  ServerSession session;
  bool is_closed = false;
  std::set<std::shared_ptr<net::CancelSignal>> calls = {};
  std::set<BeastStream*> streams = {};
};

Error closed() { return {Code::kCancelled, "the transport is closed"}; }

/// Registers itself, so that close() reaches it.
class BeastStream final : public net::ResponseStream {
 public:
  BeastStream(std::shared_ptr<Shared> shared, std::unique_ptr<net::ResponseStream> inner)
      : shared_(std::move(shared)), inner_(std::move(inner)) {
    shared_->streams.insert(this);
  }
  ~BeastStream() override { shared_->streams.erase(this); }
  BeastStream(const BeastStream&) = delete;
  BeastStream& operator=(const BeastStream&) = delete;

  int status() const override { return inner_->status(); }
  const net::Headers& headers() const override { return inner_->headers(); }
  net::Task<Result<std::string>> read(Duration idle_timeout) override {
    return inner_->read(idle_timeout);
  }
  void cancel() override { inner_->cancel(); }

 private:
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<net::ResponseStream> inner_;
};

/// A signal that close() finds, for as long as this lives.
class RegisteredSignal {
 public:
  explicit RegisteredSignal(std::shared_ptr<Shared> shared)
      : shared_(std::move(shared)), signal_(std::make_shared<net::CancelSignal>()) {
    shared_->calls.insert(signal_);
  }
  ~RegisteredSignal() { shared_->calls.erase(signal_); }
  RegisteredSignal(const RegisteredSignal&) = delete;
  RegisteredSignal& operator=(const RegisteredSignal&) = delete;
  const std::shared_ptr<net::CancelSignal>& signal() const { return signal_; }

 private:
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<net::CancelSignal> signal_;
};

net::Task<OpenResult> open_stream(std::shared_ptr<Shared> shared, net::HttpRequest request,
                                  Duration header_timeout) {
  if (shared->is_closed) co_return closed();
  shared->refresh();
  const RegisteredSignal registered(shared);
  net::HttpRequest complete = shared->session.complete(std::move(request));
  OpenResult opened = co_await shared->client.open(
      shared->session.url().endpoint, std::move(complete), header_timeout, registered.signal());
  if (shared->is_closed) co_return closed();
  shared->session.judge(opened);
  if (!opened) co_return std::move(opened).error();
  std::unique_ptr<net::ResponseStream> stream =
      std::make_unique<BeastStream>(shared, std::move(opened).value());
  co_return stream;
}

net::Task<Result<net::HttpResponse>> call_whole(std::shared_ptr<Shared> shared,
                                                net::HttpRequest request, Duration timeout,
                                                std::size_t body_bytes_max) {
  const Clock& clock = shared->session.clock();
  const TimePoint deadline = clock.now() + timeout;
  CO_TRY(std::unique_ptr<net::ResponseStream> stream,
         co_await open_stream(std::move(shared), std::move(request), timeout));
  co_return co_await read_whole(std::move(stream), clock, deadline, body_bytes_max);
}

class BeastTransport final : public Transport {
 public:
  explicit BeastTransport(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  ~BeastTransport() override { close(); }
  BeastTransport(const BeastTransport&) = delete;
  BeastTransport& operator=(const BeastTransport&) = delete;

  net::Task<Result<net::HttpResponse>> call(net::HttpRequest request, Duration timeout,
                                            std::size_t body_bytes_max) override {
    return call_whole(shared_, std::move(request), timeout, body_bytes_max);
  }
  net::Task<OpenResult> open(net::HttpRequest request, Duration header_timeout) override {
    return open_stream(shared_, std::move(request), header_timeout);
  }
  void close() override {
    shared_->is_closed = true;
    const auto calls = shared_->calls;
    for (const auto& signal : calls) signal->cancel();
    const auto streams = shared_->streams;
    for (BeastStream* stream : streams) stream->cancel();
  }

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace

Result<std::unique_ptr<Transport>> make_beast_transport(boost::asio::any_io_executor executor,
                                                        const Clock& clock,
                                                        const ClusterConfig& config) {
  TRY(ServerSession session, ServerSession::begin(clock, config));
  std::unique_ptr<Transport> transport = std::make_unique<BeastTransport>(
      std::make_shared<Shared>(std::move(executor), std::move(session)));
  return transport;
}

}  // namespace kantha::kube
