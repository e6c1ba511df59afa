#include "base/net/http_client.h"

#include <utility>

#include "base/net/client_exchange.h"
#include "base/net/connection_pool.h"
#include "base/net/connector.h"
#include "base/net/message_head.h"

namespace kantha::net {
namespace {

class ExchangeStream final : public ResponseStream {
 public:
  explicit ExchangeStream(std::shared_ptr<ClientExchange> exchange)
      : exchange_(std::move(exchange)) {}
  ExchangeStream(const ExchangeStream&) = delete;
  ExchangeStream& operator=(const ExchangeStream&) = delete;
  ~ExchangeStream() override { exchange_->cancel(); }

  int status() const override { return exchange_->status(); }
  const Headers& headers() const override { return exchange_->headers(); }
  Task<Result<std::string>> read(Duration idle_timeout) override {
    return ClientExchange::read(exchange_, idle_timeout);
  }
  void cancel() override { exchange_->cancel(); }

 private:
  std::shared_ptr<ClientExchange> exchange_;
};

/// Asking twice does no harm: by definition of the method, or because the caller knows.
bool is_repeatable(const HttpRequest& request) {
  return request.may_be_repeated || request.method == "GET" || request.method == "HEAD";
}

}  // namespace

struct HttpClient::Body {
  static Task<Result<std::unique_ptr<ResponseStream>>> open(std::shared_ptr<Body> self,
                                                            Endpoint endpoint, HttpRequest request,
                                                            TimePoint deadline,
                                                            std::shared_ptr<Interrupt> interrupt,
                                                            std::function<void()> on_resend);
  static Task<Result<HttpResponse>> call(std::shared_ptr<Body> self, Endpoint endpoint,
                                         HttpRequest request, TimePoint deadline,
                                         std::size_t body_bytes_max);

  /// A new connection, TLS included.
  static Task<Result<TimedSocket>> connect(std::shared_ptr<Body> self, Endpoint endpoint,
                                           TimePoint deadline,
                                           std::shared_ptr<Interrupt> interrupt);

  boost::asio::any_io_executor executor;
  std::shared_ptr<ConnectionPool> pool = std::make_shared<ConnectionPool>();
  std::shared_ptr<const TlsContext> tls = {};
  std::optional<Tunnel> tunnel = {};
};

Task<Result<TimedSocket>> HttpClient::Body::connect(std::shared_ptr<Body> self, Endpoint endpoint,
                                                    TimePoint deadline,
                                                    std::shared_ptr<Interrupt> interrupt) {
  const std::shared_ptr<const TlsContext> tls = self->tls;
  const std::optional<Tunnel> tunnel = self->tunnel;
  Result<TimedSocket> connected =
      tunnel ? co_await connect_through(self->executor, *tunnel, endpoint, deadline, interrupt)
             : co_await connect_to(self->executor, endpoint, deadline, interrupt);
  CO_TRY(TimedSocket socket, std::move(connected));
  if (!tls) co_return socket;
  if (interrupt->is_requested) co_return Error{Code::kCancelled, "the connect was cancelled"};
  interrupt->stop = socket.closer();
  Status shaken = co_await socket.start_tls(tls->new_session(endpoint.host), deadline);
  if (!shaken) co_return std::move(shaken).error().with_context(endpoint.to_string());
  co_return socket;
}

Task<Result<std::unique_ptr<ResponseStream>>> HttpClient::Body::open(
    std::shared_ptr<Body> self, Endpoint endpoint, HttpRequest request, TimePoint deadline,
    std::shared_ptr<Interrupt> interrupt, std::function<void()> on_resend) {
  CO_TRY(const std::string wire, render_request(request, endpoint));
  const std::string peer = endpoint.to_string();
  const bool is_head = request.method == "HEAD";
  // A kept connection may have been closed by the peer just now, which says nothing about whether
  // it serves; so a failure on one is followed by one try on a fresh one.
  const std::shared_ptr<ConnectionPool> pool = self->pool;
  for (std::optional<TimedSocket> kept = pool->take(peer);; kept.reset()) {
    if (interrupt->is_requested) co_return Error{Code::kCancelled, peer + ": cancelled"};
    const bool is_reused = kept.has_value();
    if (!kept) {
      CO_TRY(TimedSocket fresh, co_await connect(self, endpoint, deadline, interrupt));
      kept.emplace(std::move(fresh));
    }
    auto exchange = std::make_shared<ClientExchange>(*std::move(kept), peer, pool, is_head);
    interrupt->stop = [exchange] { exchange->cancel(); };
    Status begun = co_await ClientExchange::begin(exchange, wire, deadline);
    if (begun) {
      std::unique_ptr<ResponseStream> stream =
          std::make_unique<ExchangeStream>(std::move(exchange));
      co_return stream;
    }
    const bool is_silent =
        !exchange->has_received_bytes() &&
        (begun.error().code == Code::kUnavailable || begun.error().code == Code::kDataLoss);
    const bool is_harmless = is_repeatable(request) || !exchange->has_sent_bytes();
    if (!is_reused || !is_silent || !is_harmless)
      co_return std::move(begun).error().with_context(peer);
    if (on_resend) on_resend();
  }
}

Task<Result<HttpResponse>> HttpClient::Body::call(std::shared_ptr<Body> self, Endpoint endpoint,
                                                  HttpRequest request, TimePoint deadline,
                                                  std::size_t body_bytes_max) {
  const std::string peer = endpoint.to_string();
  CO_TRY(const std::unique_ptr<ResponseStream> stream,
         co_await open(std::move(self), std::move(endpoint), std::move(request), deadline,
                       std::make_shared<Interrupt>(), {}));
  HttpResponse response = {.status = stream->status(), .headers = stream->headers()};
  while (true) {
    Result<std::string> piece = co_await stream->read(deadline - system_clock().now());
    if (!piece) co_return std::move(piece).error().with_context(peer);
    if (piece->empty()) co_return response;
    if (piece->size() > body_bytes_max - response.body.size()) {
      co_return Error{Code::kOutOfRange, peer + ": the answer's body is over the limit of " +
                                             std::to_string(body_bytes_max) + " bytes"};
    }
    response.body += *piece;
  }
}

HttpClient::HttpClient(boost::asio::any_io_executor executor)
    : body_(std::make_shared<Body>(std::move(executor))) {}

HttpClient::~HttpClient() = default;

void HttpClient::set_tls(std::shared_ptr<const TlsContext> context) {
  body_->tls = std::move(context);
  // Connections in use find their pool gone when they come back.
  body_->pool = std::make_shared<ConnectionPool>();
}

void HttpClient::set_tunnel(Tunnel tunnel) { body_->tunnel = std::move(tunnel); }

Task<Result<HttpResponse>> HttpClient::call(Endpoint endpoint, HttpRequest request,
                                            Duration timeout, std::size_t body_bytes_max) {
  return Body::call(body_, std::move(endpoint), std::move(request), deadline_after(timeout),
                    body_bytes_max);
}

Task<Result<std::unique_ptr<ResponseStream>>> HttpClient::open(Endpoint endpoint,
                                                               HttpRequest request,
                                                               Duration header_timeout,
                                                               std::shared_ptr<CancelSignal> cancel,
                                                               std::function<void()> on_resend) {
  auto interrupt = std::make_shared<Interrupt>();
  if (cancel) {
    // Weak: once open has returned, the connection may serve somebody else.
    cancel->on_cancel([weak = std::weak_ptr(interrupt)] {
      if (const auto running = weak.lock()) running->request();
    });
  }
  return Body::open(body_, std::move(endpoint), std::move(request), deadline_after(header_timeout),
                    std::move(interrupt), std::move(on_resend));
}

}  // namespace kantha::net
