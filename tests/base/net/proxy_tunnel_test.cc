#include "base/net/proxy_tunnel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <mutex>

#include "base/net/http_client.h"
#include "base/net/http_server.h"
#include "tests/base/net/loopback.h"
#include "tests/base/net/test_certificates.h"

namespace kantha::net {
namespace {

using boost::asio::io_context;
using testing::HasSubstr;

constexpr Duration kPatience = std::chrono::seconds(5);

Task<void> answer_path(HttpRequest request, ResponseWriter& writer) {
  HttpResponse response;
  response.body = "reached " + request.target;
  (void)co_await writer.send(std::move(response));
}

/// Carries bytes both ways until one side ends.
void relay(int client, int server) {
  std::array<char, 16384> space;
  while (true) {
    std::array<pollfd, 2> ends = {pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
    if (::poll(ends.data(), ends.size(), kPatienceMs) <= 0) return;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].revents == 0) continue;
      const ssize_t count = ::recv(ends[i].fd, space.data(), space.size(), 0);
      if (count <= 0) return;
      (void)::send(ends[1 - i].fd, space.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL);
    }
  }
}

/// A proxy that answers CONNECT with `consent` and then carries bytes to one server.
class TestProxy {
 public:
  TestProxy(std::string consent, Endpoint server)
      : consent_(std::move(consent)), server_(std::move(server)) {
    listener_.emplace([this](RawPeer& peer, int) {
      const std::string head = peer.read_until("\r\n\r\n");
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        head_ = head;
      }
      if (!peer.send(consent_) || !consent_.starts_with("HTTP/1.1 200")) return;
      const RawPeer server(server_);
      relay(peer.fd(), server.fd());
    });
  }
  const Endpoint& endpoint() const { return listener_->endpoint(); }
  std::string head() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return head_;
  }

 private:
  std::string consent_;
  Endpoint server_;
  mutable std::mutex mutex_;
  std::string head_;
  std::optional<ScriptedServer> listener_;
};

class ProxyTunnel : public testing::Test {
 protected:
  ProxyTunnel() : server_(answer_path) {
    const TestIdentity identity = authority_.issue("server", "DNS:models.invalid");
    const auto context =
        TlsContext::for_server({identity.certificate_pem, identity.key_pem, ""}).value();
    server_.on_loop([this, context] { server_.server().set_tls(context); });
  }

  Result<HttpResponse> call(const Tunnel& tunnel) {
    io_context io;
    HttpClient client(io.get_executor());
    client.set_tls(TlsContext::for_client({.ca_pem = authority_.pem()}).value());
    client.set_tunnel(tunnel);
    const Endpoint named = {.host = "models.invalid", .port = 443};
    return run_on(io, client.call(named, {.target = "/x"}, kPatience));
  }

  TestAuthority authority_;
  LoopbackServer server_;
};

TEST_F(ProxyTunnel, CarriesTlsToAServerThatOnlyTheProxyCanFind) {
  const TestProxy proxy("HTTP/1.1 200 Connection established\r\n\r\n", server_.endpoint());
  const Result<HttpResponse> answer = call({proxy.endpoint(), "Basic eDp5"});
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(answer->body, "reached /x");
  EXPECT_THAT(proxy.head(), HasSubstr("CONNECT models.invalid:443 HTTP/1.1\r\n"));
  EXPECT_THAT(proxy.head(), HasSubstr("Proxy-Authorization: Basic eDp5\r\n"));
}

TEST_F(ProxyTunnel, SaysWhatTheProxySays) {
  const TestProxy proxy("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", server_.endpoint());
  const Result<HttpResponse> answer = call({proxy.endpoint()});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  EXPECT_THAT(answer.error().message, HasSubstr("407 Proxy Authentication Required"));
}

TEST_F(ProxyTunnel, TakesNoProxyThatTalksInTheServersPlace) {
  for (const char* consent : {"HTTP/1.1 200 OK\r\n\r\nsurprise", "SSH-2.0-x\r\n\r\n", ""}) {
    const TestProxy proxy(consent, server_.endpoint());
    const Result<HttpResponse> answer = call({proxy.endpoint()});
    ASSERT_FALSE(answer.ok()) << consent;
    EXPECT_EQ(answer.error().code, Code::kUnavailable) << answer.error().to_string();
  }
}

}  // namespace
}  // namespace kantha::net
