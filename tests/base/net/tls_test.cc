#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/net/http_client.h"
#include "base/net/http_server.h"
#include "base/net/task_group.h"
#include "tests/base/net/loopback.h"
#include "tests/base/net/test_certificates.h"
#include "tests/base/net/tls_peer.h"

namespace kantha::net {
namespace {

using boost::asio::io_context;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr Duration kPatience = seconds(5);

Task<void> answer(HttpRequest request, ResponseWriter& writer) {
  if (request.path() == "/stream") {
    (void)co_await writer.start(200, {});
    for (int i = 0; i < 3; ++i) {
      (void)co_await writer.write("piece" + std::to_string(i));
      co_await sleep_for(milliseconds(10));
    }
    (void)co_await writer.finish();
    co_return;
  }
  const std::size_t size = request.path() == "/large" ? 3'000'000 : 0;
  HttpResponse response = {.status = 200, .body = std::string(size, 'x')};
  response.body += request.body;
  (void)co_await writer.send(std::move(response));
}

class Tls : public testing::Test {
 protected:
  Tls() : server_(answer), identity_(authority_.issue("server", "DNS:localhost,IP:127.0.0.1")) {
    settings_.ca_pem = authority_.pem();
    serve({identity_.certificate_pem, identity_.key_pem, ""});
  }
  void serve(const TlsServerSettings& settings) {
    const auto context = TlsContext::for_server(settings).value();
    server_.on_loop([this, context] { server_.server().set_tls(context); });
  }
  void trust(const TlsClientSettings& settings) {
    client_.set_tls(TlsContext::for_client(settings).value());
  }
  Result<HttpResponse> call(HttpRequest request, const std::string& host = "127.0.0.1") {
    const Endpoint endpoint = {.host = host, .port = server_.endpoint().port};
    return run_on(io_, client_.call(endpoint, std::move(request), kPatience));
  }
  std::string failure(const std::string& host = "127.0.0.1") {
    const auto answered = call({}, host);
    return answered.ok() ? "no failure" : answered.error().to_string();
  }

  LoopbackServer server_;
  TestAuthority authority_;
  TestIdentity identity_;
  TlsClientSettings settings_;
  io_context io_;
  HttpClient client_{io_.get_executor()};
};

TEST_F(Tls, CarriesLargeBodiesBothWaysOnOneConnection) {
  trust(settings_);
  const std::string body(2'000'000, 'y');
  for (int i = 0; i < 3; ++i) {
    const auto answered = call({.method = "POST", .target = "/large", .body = body});
    ASSERT_TRUE(answered.ok()) << answered.error().to_string();
    EXPECT_EQ(answered->body, std::string(3'000'000, 'x') + body);
  }
  EXPECT_EQ(server_.open_connections(), 1u) << "the connection is kept";
}

TEST_F(Tls, StreamsPieceByPiece) {
  trust(settings_);
  const Endpoint endpoint = server_.endpoint();
  auto stream = run_on(io_, client_.open(endpoint, {.target = "/stream"}, kPatience));
  ASSERT_TRUE(stream.ok());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(*run_on(io_, (*stream)->read(kPatience)), "piece" + std::to_string(i));
  }
  EXPECT_EQ(*run_on(io_, (*stream)->read(kPatience)), "");
}

TEST_F(Tls, ASlowReadMayBeRepeated) {
  trust(settings_);
  ScriptedTlsServer slow({identity_.certificate_pem, identity_.key_pem, ""},
                         [](TlsPeer& peer, int) {
                           peer.read_request();
                           peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
                           peer.read_until("never");
                         });
  auto stream = run_on(io_, client_.open(slow.endpoint(), {}, kPatience));
  ASSERT_TRUE(stream.ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run_on(io_, (*stream)->read(milliseconds(20))).error().code, Code::kDeadlineExceeded);
  }
}

TEST_F(Tls, VerifiesTheServersNameAndRoot) {
  const TlsClientSettings trusting = settings_;
  trust(trusting);
  EXPECT_EQ(failure("localhost"), "no failure");
  EXPECT_EQ(failure("127.0.0.1"), "no failure");

  TlsClientSettings other_name = trusting;
  other_name.server_name = "kubernetes.default.svc";
  trust(other_name);
  EXPECT_THAT(failure(), HasSubstr("unavailable: "));
  EXPECT_THAT(failure(), HasSubstr("TLS: the peer's certificate is refused: hostname mismatch"));

  TlsClientSettings other_address = trusting;
  other_address.server_name = "127.0.0.2";
  trust(other_address);
  EXPECT_THAT(failure(), HasSubstr("IP address mismatch"));

  TlsClientSettings other_root = trusting;
  other_root.ca_pem = TestAuthority().pem();
  trust(other_root);
  EXPECT_THAT(failure(), HasSubstr("the peer's certificate is refused: "));
  other_root.skip_verify = true;
  trust(other_root);
  EXPECT_EQ(failure(), "no failure");

  trust({});
  EXPECT_THAT(failure(), HasSubstr("the peer's certificate is refused: "))
      << "the system's roots do not know the test's";
}

TEST_F(Tls, AsksForANameAndNeverForAnAddress) {
  // The certificate of a name alone does not serve its address.
  const TestIdentity named = authority_.issue("server", "DNS:localhost");
  serve({named.certificate_pem, named.key_pem, ""});
  trust(settings_);
  EXPECT_EQ(failure("localhost"), "no failure");
  EXPECT_THAT(failure("127.0.0.1"), HasSubstr("IP address mismatch"));
}

TEST_F(Tls, RefusesACertificateThatHasExpired) {
  const TestIdentity old = authority_.issue("server", "IP:127.0.0.1", 0);
  serve({old.certificate_pem, old.key_pem, ""});
  trust(settings_);
  EXPECT_THAT(failure(), HasSubstr("certificate has expired"));
}

TEST_F(Tls, ShowsAClientCertificateWhereOneIsDemanded) {
  serve({identity_.certificate_pem, identity_.key_pem, authority_.pem()});
  trust(settings_);
  EXPECT_THAT(failure(), HasSubstr("TLS: ")) << "none shown";
  const TestIdentity me = authority_.issue("me", "DNS:me");
  TlsClientSettings with_me = settings_;
  with_me.certificate_pem = me.certificate_pem;
  with_me.key_pem = me.key_pem;
  trust(with_me);
  EXPECT_EQ(failure(), "no failure");
  const TestIdentity foreign = TestAuthority("another").issue("me", "DNS:me");
  with_me.certificate_pem = foreign.certificate_pem;
  with_me.key_pem = foreign.key_pem;
  trust(with_me);
  EXPECT_THAT(failure(), HasSubstr("TLS: ")) << "of another root";
}

TEST_F(Tls, ANewContextDropsKeptConnections) {
  trust(settings_);
  EXPECT_EQ(failure(), "no failure");
  TlsClientSettings other_root = settings_;
  other_root.ca_pem = TestAuthority().pem();
  trust(other_root);
  EXPECT_THAT(failure(), HasSubstr("the peer's certificate is refused: "));
}

TEST_F(Tls, APlainClientGetsNoAnswerAndATlsClientNoneFromAPlainServer) {
  EXPECT_THAT(failure(), testing::Not(HasSubstr("no failure")));
  LoopbackServer plain(answer);
  trust(settings_);
  const auto answered = run_on(io_, client_.call(plain.endpoint(), {}, kPatience));
  ASSERT_FALSE(answered.ok());
  EXPECT_EQ(answered.error().code, Code::kUnavailable);
  EXPECT_THAT(answered.error().message, HasSubstr("TLS: "));
}

TEST_F(Tls, ABodyUntilCloseNeedsTheProperEnd) {
  trust(settings_);
  ScriptedTlsServer scripted({identity_.certificate_pem, identity_.key_pem, ""},
                             [](TlsPeer& peer, int number) {
                               peer.read_request();
                               peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf");
                               if (number == 0) peer.end();
                               if (number == 1) peer.cut();
                             });
  const auto whole = run_on(io_, client_.call(scripted.endpoint(), {}, kPatience));
  ASSERT_TRUE(whole.ok()) << whole.error().to_string();
  EXPECT_EQ(whole->body, "half");
  const auto cut = run_on(io_, client_.call(scripted.endpoint(), {}, kPatience));
  ASSERT_FALSE(cut.ok()) << "anybody can send a FIN";
  EXPECT_EQ(cut.error().code, Code::kDataLoss);
}

TEST_F(Tls, ASilentPeerDoesNotHoldTheHandshakeBeyondItsDeadline) {
  trust(settings_);
  ScriptedServer silent([](RawPeer& peer, int) { peer.sees_end(); });
  const auto answered = run_on(io_, client_.call(silent.endpoint(), {}, milliseconds(50)));
  ASSERT_FALSE(answered.ok());
  EXPECT_EQ(answered.error().code, Code::kDeadlineExceeded);
}

TEST_F(Tls, TheServerGivesUpOnAHandshakeThatDoesNotCome) {
  LoopbackServer impatient(answer, {.header_timeout = milliseconds(50)});
  const auto context =
      TlsContext::for_server({identity_.certificate_pem, identity_.key_pem, ""}).value();
  impatient.on_loop([&] { impatient.server().set_tls(context); });
  RawPeer peer(impatient.endpoint());
  EXPECT_TRUE(peer.sees_end());
}

TEST(TlsContext, NamesThePartThatIsWrong) {
  const TestAuthority authority;
  const TestIdentity me = authority.issue("me", "DNS:me");
  const TestIdentity you = authority.issue("you", "DNS:you");
  const std::string half = me.certificate_pem.substr(0, me.certificate_pem.size() / 2);
  const struct {
    const char* name;
    TlsClientSettings settings;
    const char* field;
  } cases[] = {
      {"no PEM", {.ca_pem = "garbage"}, "ca"},
      {"half a certificate", {.ca_pem = authority.pem() + half}, "ca"},
      {"no certificate", {.certificate_pem = "x", .key_pem = me.key_pem}, "certificate"},
      {"no key", {.certificate_pem = me.certificate_pem, .key_pem = ""}, "key"},
      {"another's key", {.certificate_pem = me.certificate_pem, .key_pem = you.key_pem}, "key"},
  };
  for (const auto& each : cases) {
    const auto context = TlsContext::for_client(each.settings);
    ASSERT_FALSE(context.ok()) << each.name;
    EXPECT_EQ(context.error().field, each.field) << each.name;
  }
  EXPECT_TRUE(TlsContext::for_client({.ca_pem = authority.pem() + authority.pem()}).ok());
}

}  // namespace
}  // namespace kantha::net
