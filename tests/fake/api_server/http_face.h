#pragma once

#include <memory>

#include "base/net/http_server.h"
#include "tests/fake/api_server/fake_api_server.h"

/// The fake API server on a port, for whole programs and for kubectl. Loopback, plain HTTP. One
/// executor; the server must outlive it.
namespace kantha::fake {

class HttpFace {
 public:
  HttpFace(boost::asio::any_io_executor executor, FakeApiServer& server);
  /// Gives the endpoint with its real port.
  Result<net::Endpoint> listen(const net::Endpoint& endpoint);
  void close() { http_->close(); }

 private:
  static net::Task<void> handle(FakeApiServer& server, net::HttpRequest request,
                                net::ResponseWriter& writer);

  std::unique_ptr<net::HttpServer> http_;
};

}  // namespace kantha::fake
