#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <list>

#include "base/net/task_group.h"
#include "base/whole_file.h"
#include "operator/kube/transport_factory.h"
#include "tests/base/net/loopback.h"
#include "tests/base/net/test_certificates.h"
#include "tests/base/net/tls_peer.h"

/// What every transport keeps to, whatever carries it, against a TLS server on loopback.
namespace kantha::kube {
namespace {

using net::ScriptedTlsServer;
using net::TestAuthority;
using net::TestIdentity;
using net::TlsPeer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using OpenResult = Result<std::unique_ptr<net::ResponseStream>>;

constexpr Duration kPatience = seconds(5);
constexpr Duration kShort = milliseconds(100);
constexpr std::size_t kBodyMax = 1u << 20;
const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const std::string kChunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

const TestAuthority& authority() {
  static const TestAuthority one;
  return one;
}

net::TlsServerSettings identity_of(const TestAuthority& issuer) {
  TestIdentity made = issuer.issue("server", "DNS:localhost,IP:127.0.0.1");
  return {made.certificate_pem, made.key_pem, ""};
}

const net::TlsServerSettings& server_identity() {
  static const net::TlsServerSettings one = identity_of(authority());
  return one;
}

std::string chunk(std::string_view bytes) {
  char size[24];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  return size + std::string(bytes) + "\r\n";
}

/// Answers every request of a connection with the same bytes.
ScriptedTlsServer::Script always(std::string answer) {
  return [answer](TlsPeer& peer, int) {
    while (!peer.read_request().empty() && peer.send(answer)) {
    }
  };
}

class TransportContract : public testing::TestWithParam<TransportKind> {
 protected:
  TransportContract() {
    config_.ca_file = dir_.file("ca.crt");
    write(config_.ca_file, authority().pem());
  }
  void write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(replace_whole_file(path, text).ok());
  }
  void serve(ScriptedTlsServer::Script script) {
    server_.emplace(server_identity(), std::move(script));
    config_.server = "https://" + server_->endpoint().to_string();
  }
  /// After this the server's threads have ended, and what they saw can be read.
  void stop() {
    transport_.reset();
    server_.reset();
  }
  Transport& transport() {
    if (!transport_) {
      auto made = make_transport(GetParam(), io_.get_executor(), clock_, config_);
      CHECK(made.ok(), made.error().message.c_str());
      transport_ = std::move(made).value();
    }
    return *transport_;
  }
  template <class T>
  T run(net::Task<T> task) {
    return net::run_on(io_, std::move(task));
  }
  Result<net::HttpResponse> call(net::HttpRequest request = {}, Duration timeout = kPatience) {
    return run(transport().call(std::move(request), timeout, kBodyMax));
  }
  OpenResult open(net::HttpRequest request = {}) {
    return run(transport().open(std::move(request), kPatience));
  }
  Code code_of_call(Duration timeout = kPatience) {
    const auto answer = call({}, timeout);
    return answer.ok() ? Code::kUnimplemented : answer.error().code;
  }
  /// Everything up to the end, or the code of what came instead of it.
  std::string read_all(net::ResponseStream& stream) {
    std::string text;
    while (true) {
      const auto piece = run(stream.read(kPatience));
      if (!piece) return text + "!" + std::string(code_name(piece.error().code));
      if (piece->empty()) return text;
      text += *piece;
    }
  }

  net::TempDir dir_;
  FakeClock clock_;
  ClusterConfig config_;
  std::optional<ScriptedTlsServer> server_;
  boost::asio::io_context io_;
  std::unique_ptr<Transport> transport_;
};

TEST_P(TransportContract, SendsTheRequestAsItIs) {
  std::string seen;
  serve([&seen](TlsPeer& peer, int) {
    seen = peer.read_request();
    peer.send(kOk);
  });
  config_.token = "secret";
  const std::string target = "/api/v1/pods?labelSelector=a%3Db%2Cc&limit=500&continue=t%2B%2F";
  const auto answer = call({.method = "PATCH",
                            .target = target,
                            .headers = {{"Content-Type", "application/apply-patch+yaml"},
                                        {"Accept", "application/json"}},
                            .body = "{\"a\":\"\xc3\xbc\"}"});
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(answer->body, "ok");
  const std::string host = server_->endpoint().to_string();
  stop();
  EXPECT_THAT(seen, StartsWith("PATCH " + target + " HTTP/1.1\r\n"));
  EXPECT_EQ(net::field_of(seen, "Authorization"), "Bearer secret");
  EXPECT_EQ(net::field_of(seen, "Content-Type"), "application/apply-patch+yaml");
  EXPECT_EQ(net::field_of(seen, "Accept"), "application/json");
  EXPECT_EQ(net::field_of(seen, "Host"), host);
  EXPECT_EQ(net::field_of(seen, "Content-Length"), "10");
  EXPECT_THAT(seen, testing::EndsWith("\r\n\r\n{\"a\":\"\xc3\xbc\"}"));
}

TEST_P(TransportContract, PutsTheServersPathBeforeTheTarget) {
  std::string seen;
  serve([&seen](TlsPeer& peer, int) {
    seen = peer.read_request();
    peer.send(kOk);
  });
  config_.server += "/k8s/clusters/c-1/";
  EXPECT_TRUE(call({.target = "/version"}).ok());
  stop();
  EXPECT_THAT(seen, StartsWith("GET /k8s/clusters/c-1/version HTTP/1.1\r\n"));
}

TEST_P(TransportContract, EveryStatusIsAnAnswer) {
  for (const int status : {200, 201, 202, 400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504}) {
    serve(always("HTTP/1.1 " + std::to_string(status) +
                 " X\r\nContent-Length: 4\r\nRetry-After: 7\r\n\r\nbody"));
    const auto answer = call();
    ASSERT_TRUE(answer.ok()) << status << ": " << answer.error().to_string();
    EXPECT_EQ(answer->status, status);
    EXPECT_EQ(answer->body, "body");
    EXPECT_EQ(answer->headers.find("retry-after"), "7");
    transport_.reset();
  }
}

TEST_P(TransportContract, FollowsNoRedirect) {
  ScriptedTlsServer other(server_identity(), always(kOk));
  for (const int status : {301, 302, 303, 307, 308}) {
    serve(always("HTTP/1.1 " + std::to_string(status) + " X\r\nLocation: https://" +
                 other.endpoint().to_string() + "/x\r\nContent-Length: 0\r\n\r\n"));
    config_.token = "secret";
    const auto answer = call();
    ASSERT_TRUE(answer.ok()) << answer.error().to_string();
    EXPECT_EQ(answer->status, status);
    EXPECT_EQ(other.connection_count(), 0) << "the token would have gone elsewhere";
    transport_.reset();
  }
}

TEST_P(TransportContract, ReadsBodiesOfEveryFraming) {
  const std::string large(700'000, 'x');
  const struct {
    const char* name;
    std::string answer;
    std::string body;
  } cases[] = {
      {"length", "HTTP/1.1 200 OK\r\nContent-Length: 700000\r\n\r\n" + large, large},
      {"no bytes", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""},
      {"chunks", kChunkedHead + chunk("a") + chunk(large) + chunk("b") + "0\r\n\r\n",
       "a" + large + "b"},
      {"no chunk", kChunkedHead + "0\r\n\r\n", ""},
  };
  for (const auto& each : cases) {
    serve(always(each.answer));
    const auto answer = call();
    ASSERT_TRUE(answer.ok()) << each.name << ": " << answer.error().to_string();
    EXPECT_TRUE(answer->body == each.body) << each.name;
    transport_.reset();
  }
}

TEST_P(TransportContract, AnAnswerThatIsCutIsDataLoss) {
  for (const std::string& answer :
       {std::string("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), kChunkedHead + "9\r\nhalf",
        kChunkedHead + chunk("whole"), std::string("HTTP/1.1 200 OK\r\nContent-"), std::string()}) {
    for (const bool is_proper_end : {false, true}) {
      serve([answer, is_proper_end](TlsPeer& peer, int) {
        peer.read_request();
        peer.send(answer);
        is_proper_end ? peer.end() : peer.cut();
      });
      EXPECT_EQ(code_of_call(), Code::kDataLoss) << answer;
      transport_.reset();
    }
  }
}

TEST_P(TransportContract, WatchesEventsOf300KilobytesInOddPieces) {
  std::string events;
  for (int i = 0; i < 5; ++i) events += std::string(300'000, static_cast<char>('a' + i)) + "\n";
  serve([&events](TlsPeer& peer, int) {
    peer.read_request();
    peer.send(kChunkedHead);
    std::size_t size = 1;
    for (std::size_t at = 0; at < events.size(); at += size) {
      size = size * 7 % 65'521 + 1;
      peer.send(chunk(std::string_view(events).substr(at, size)));
    }
    peer.send("0\r\n\r\n");
  });
  const auto stream = open();
  ASSERT_TRUE(stream.ok()) << stream.error().to_string();
  EXPECT_EQ((*stream)->status(), 200);
  EXPECT_TRUE(read_all(**stream) == events);
  EXPECT_EQ(read_all(**stream), "") << "the end stays the end";
}

TEST_P(TransportContract, GivesWhatCameBeforeAFrameWasCut) {
  serve([](TlsPeer& peer, int) {
    peer.read_request();
    peer.send(kChunkedHead + chunk("whole\n") + chunk("ha"));
    peer.cut();
  });
  const auto stream = open();
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(read_all(**stream), "whole\nha!data_loss");
}

TEST_P(TransportContract, HeadersThatDoNotComeAreADeadline) {
  serve([](TlsPeer& peer, int) {
    peer.read_request();
    peer.read_until("never");
  });
  EXPECT_EQ(code_of_call(kShort), Code::kDeadlineExceeded);
  EXPECT_EQ(run(transport().open({}, kShort)).error().code, Code::kDeadlineExceeded);
}

TEST_P(TransportContract, ABodyThatStallsIsADeadlineOfTheWholeCall) {
  serve([](TlsPeer& peer, int) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    peer.read_until("never");
  });
  EXPECT_EQ(code_of_call(kShort), Code::kDeadlineExceeded);
}

TEST_P(TransportContract, ASilentPeerIsADeadlineAfterWhichReadingMayGoOn) {
  std::atomic<bool> may_speak = false;
  serve([&may_speak](TlsPeer& peer, int) {
    peer.read_request();
    peer.send(kChunkedHead);
    net::eventually([&may_speak] { return may_speak.load(); });
    peer.send(chunk("late") + "0\r\n\r\n");
  });
  const auto stream = open();
  ASSERT_TRUE(stream.ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run((*stream)->read(kShort)).error().code, Code::kDeadlineExceeded);
  }
  may_speak = true;
  EXPECT_EQ(read_all(**stream), "late");
}

TEST_P(TransportContract, NobodyThereIsUnavailable) {
  serve(always(kOk));
  server_.reset();
  EXPECT_EQ(code_of_call(), Code::kUnavailable);
}

TEST_P(TransportContract, RefusesAServerOfAnotherNameOrRoot) {
  std::atomic<int> request_count = 0;
  serve([&request_count](TlsPeer& peer, int) {
    if (!peer.read_request().empty()) ++request_count;
    peer.send(kOk);
  });
  config_.tls_server_name = "kubernetes.default.svc";
  EXPECT_EQ(code_of_call(), Code::kUnavailable);
  transport_.reset();
  config_.tls_server_name.clear();
  config_.ca_data = TestAuthority().pem();
  EXPECT_EQ(code_of_call(), Code::kUnavailable);
  transport_.reset();
  config_.ca_data.clear();
  config_.ca_file.clear();
  EXPECT_EQ(code_of_call(), Code::kUnavailable) << "the system's roots do not know it";
  transport_.reset();
  EXPECT_EQ(request_count, 0) << "a token would have been told";
  config_.insecure_skip_tls_verify = true;
  EXPECT_TRUE(call().ok());
}

TEST_P(TransportContract, AsksForAnotherNameWhereTheConfigurationSaysSo) {
  const TestIdentity named = authority().issue("server", "DNS:kubernetes.default.svc");
  serve(always(kOk));
  server_->use({named.certificate_pem, named.key_pem, ""});
  EXPECT_EQ(code_of_call(), Code::kUnavailable);
  transport_.reset();
  config_.tls_server_name = "kubernetes.default.svc";
  const auto answer = call();
  EXPECT_TRUE(answer.ok()) << answer.error().to_string();
}

TEST_P(TransportContract, ShowsItsClientCertificate) {
  serve(always(kOk));
  net::TlsServerSettings demanding = server_identity();
  demanding.client_ca_pem = authority().pem();
  server_->use(demanding);
  EXPECT_NE(code_of_call(), Code::kUnimplemented) << "none shown";
  transport_.reset();
  const TestIdentity me = authority().issue("me", "DNS:me");
  config_.client_certificate_data = me.certificate_pem;
  config_.client_key_data = me.key_pem;
  const auto answer = call();
  EXPECT_TRUE(answer.ok()) << answer.error().to_string();
}

TEST_P(TransportContract, ATokenThatChangedIsUsedWithinASecondAndAtOnceAfterA401) {
  config_.token_file = dir_.file("token");
  write(config_.token_file, "one\n");
  serve([](TlsPeer& peer, int) {
    for (std::string request = peer.read_request(); !request.empty();
         request = peer.read_request()) {
      const bool is_known = net::field_of(request, "Authorization") == "Bearer two";
      peer.send(is_known ? kOk : "HTTP/1.1 401 X\r\nContent-Length: 0\r\n\r\n");
    }
  });
  EXPECT_EQ(call()->status, 401);
  clock_.advance(seconds(2));
  EXPECT_EQ(call()->status, 401);
  // The clock stands still: only the 401 makes it look.
  write(config_.token_file, "two\n");
  EXPECT_EQ(call()->status, 200) << "no 401 lasts longer than one request";
  write(config_.token_file, "three\n");
  EXPECT_EQ(call()->status, 200) << "read at most once a second";
  clock_.advance(seconds(2));
  EXPECT_EQ(call()->status, 401);
}

TEST_P(TransportContract, ARootThatChangedIsUsedAfterTheFirstFailure) {
  const TestAuthority next("next");
  const std::string answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
  serve([&answer](TlsPeer& peer, int) {
    peer.read_request();
    peer.send(answer);
  });
  EXPECT_TRUE(call().ok());
  server_->use(identity_of(next));
  EXPECT_EQ(code_of_call(), Code::kUnavailable);
  write(config_.ca_file, next.pem());
  const auto after = call();
  EXPECT_TRUE(after.ok()) << after.error().to_string();
}

TEST_P(TransportContract, CredentialsThatAreHalfWrittenAreNotUsed) {
  const TestIdentity me = authority().issue("me", "DNS:me");
  const TestIdentity renewed = authority().issue("me", "DNS:me");
  config_.client_certificate_file = dir_.file("tls.crt");
  config_.client_key_file = dir_.file("tls.key");
  write(config_.client_certificate_file, me.certificate_pem);
  write(config_.client_key_file, me.key_pem);
  serve(always(kOk));
  net::TlsServerSettings demanding = server_identity();
  demanding.client_ca_pem = authority().pem();
  server_->use(demanding);
  EXPECT_TRUE(call().ok());
  write(config_.client_certificate_file, renewed.certificate_pem);
  clock_.advance(seconds(2));
  EXPECT_TRUE(call().ok()) << "the key has not come yet: the old pair serves";
  const int before = server_->connection_count();
  write(config_.client_key_file, renewed.key_pem);
  clock_.advance(seconds(2));
  EXPECT_TRUE(call().ok());
  EXPECT_GT(server_->connection_count(), before) << "the new pair needs a new connection";
}

TEST_P(TransportContract, AnAnswerBeyondItsBoundIsRefused) {
  serve(always("HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n" + std::string(2'000'000, 'x')));
  EXPECT_EQ(code_of_call(), Code::kOutOfRange);
  transport_.reset();
  serve([](TlsPeer& peer, int) {
    peer.read_request();
    peer.send(kChunkedHead);
    while (peer.send(chunk(std::string(10'000, 'x')))) {
    }
  });
  EXPECT_EQ(code_of_call(), Code::kOutOfRange) << "one without end";
}

TEST_P(TransportContract, AStreamThatNobodyReadsIsNotHeldInMemory) {
  constexpr std::size_t kTotal = 64u << 20;
  std::atomic<std::size_t> sent = 0;
  serve([&sent](TlsPeer& peer, int) {
    peer.read_request();
    peer.send(kChunkedHead);
    const std::string piece = chunk(std::string(16'000, 'x'));
    while (sent < kTotal && peer.send(piece)) sent += 16'000;
    peer.send("0\r\n\r\n");
  });
  auto stream = open();
  ASSERT_TRUE(stream.ok());
  std::size_t before = 0;
  // What the kernel's buffers and ours hold is reached soon.
  EXPECT_TRUE(net::eventually([&] {
    io_.restart();
    io_.run_for(milliseconds(100));
    return std::exchange(before, sent.load()) == sent && sent > 0;
  }));
  EXPECT_LT(sent, kTotal / 2);
  const std::string all = read_all(**stream);
  EXPECT_EQ(all.size(), sent.load()) << "and comes when it is read";
}

TEST_P(TransportContract, CloseEndsEverythingNowAndLater) {
  serve([](TlsPeer& peer, int) {
    if (peer.read_request().find("/watch") != std::string::npos) peer.send(kChunkedHead);
    peer.read_until("never");
  });
  const auto stream = open({.target = "/watch"});
  ASSERT_TRUE(stream.ok());
  std::vector<Code> ends;
  net::TaskGroup group(io_.get_executor(), "test");
  const auto wait_call = [](Transport& transport, std::vector<Code>& into) -> net::Task<void> {
    const auto answer = co_await transport.call({}, kPatience, kBodyMax);
    into.push_back(answer.ok() ? Code::kUnimplemented : answer.error().code);
  };
  const auto wait_read = [](net::ResponseStream& watch,
                            std::vector<Code>& into) -> net::Task<void> {
    const auto piece = co_await watch.read(kPatience);
    into.push_back(piece.ok() ? Code::kUnimplemented : piece.error().code);
  };
  group.spawn(wait_call(transport(), ends));
  group.spawn(wait_read(**stream, ends));
  io_.restart();
  io_.run_for(kShort);
  EXPECT_TRUE(ends.empty());
  transport().close();
  io_.restart();
  io_.run_for(kPatience / 2);
  EXPECT_THAT(ends, testing::ElementsAre(Code::kCancelled, Code::kCancelled));
  EXPECT_EQ(code_of_call(), Code::kCancelled);
  EXPECT_EQ(open().error().code, Code::kCancelled);
  EXPECT_EQ(run((*stream)->read(kShort)).error().code, Code::kCancelled);
}

TEST_P(TransportContract, AStreamThatIsLetGoClosesItsConnection) {
  std::atomic<bool> was_closed = false;
  serve([&was_closed](TlsPeer& peer, int) {
    peer.read_request();
    peer.send(kChunkedHead + chunk("x"));
    was_closed = peer.sees_end();
  });
  {
    const auto stream = open();
    ASSERT_TRUE(stream.ok());
  }
  EXPECT_TRUE(net::eventually([&] {
    io_.restart();
    io_.poll();
    return was_closed.load();
  }));
}

TEST_P(TransportContract, AStreamMayOutliveItsTransport) {
  serve([](TlsPeer& peer, int) {
    peer.read_request();
    peer.send(kChunkedHead + chunk("x"));
    peer.read_until("never");
  });
  const auto stream = open();
  ASSERT_TRUE(stream.ok());
  transport_.reset();
  EXPECT_EQ(run((*stream)->read(kShort)).error().code, Code::kCancelled);
}

TEST_P(TransportContract, CarriesTwentyWatchesAndCallsBesideThem) {
  serve([](TlsPeer& peer, int) {
    for (std::string request = peer.read_request(); !request.empty();
         request = peer.read_request()) {
      if (request.find("/watch") == request.npos) {
        peer.send(kOk);
        continue;
      }
      peer.send(kChunkedHead);
      for (int i = 0; i < 50; ++i) peer.send(chunk(std::to_string(i) + "\n"));
      peer.send("0\r\n\r\n");
    }
  });
  std::string expected;
  for (int i = 0; i < 50; ++i) expected += std::to_string(i) + "\n";
  std::list<std::unique_ptr<net::ResponseStream>> streams;
  for (int i = 0; i < 20; ++i) {
    auto stream = open({.target = "/watch"});
    ASSERT_TRUE(stream.ok()) << stream.error().to_string();
    streams.push_back(std::move(stream).value());
    EXPECT_TRUE(call().ok());
  }
  for (const auto& stream : streams) EXPECT_EQ(read_all(*stream), expected);
}

TEST_P(TransportContract, AConnectionThatTheServerClosedIsReplaced) {
  serve([](TlsPeer& peer, int) {
    peer.read_request();
    peer.send(kOk);
    peer.end();
  });
  for (int i = 0; i < 5; ++i) {
    const auto answer = call();
    EXPECT_TRUE(answer.ok()) << i << ": " << answer.error().to_string();
  }
  EXPECT_EQ(server_->connection_count(), 5);
}

TEST_P(TransportContract, KeepsAConnectionForTheNextCall) {
  serve(always(kOk));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(call().ok());
  // cpprest gives a connection back a moment after it gave the answer.
  EXPECT_LE(server_->connection_count(), 3);
}

TEST_P(TransportContract, ComesBackAfterFailuresInARow) {
  serve([](TlsPeer& peer, int number) {
    peer.read_request();
    if (number >= 5) peer.send(kOk);
  });
  int failures = 0;
  while (!call().ok() && failures < 20) ++failures;
  EXPECT_GE(failures, 1);
  EXPECT_LE(failures, 5);
}

TEST_P(TransportContract, TellsWhichFileOrFieldIsAtFault) {
  config_.server = "https://127.0.0.1:1";
  const auto failure = [this] {
    auto made = make_transport(GetParam(), io_.get_executor(), clock_, config_);
    return made.ok() ? std::string("none") : made.error().to_string();
  };
  EXPECT_EQ(failure(), "none");
  config_.ca_file = dir_.file("absent");
  EXPECT_THAT(failure(), HasSubstr(config_.ca_file));
  config_.ca_file.clear();
  config_.ca_data = "garbage";
  EXPECT_THAT(failure(), HasSubstr("(ca)"));
  config_.ca_data.clear();
  config_.token = "two words";
  EXPECT_THAT(failure(), HasSubstr("(token)"));
  EXPECT_THAT(failure(), Not(HasSubstr("two words"))) << "a secret is never shown";
  config_.token.clear();
  config_.server = "http://10.0.0.1";
  EXPECT_THAT(failure(), HasSubstr("loopback"));
}

INSTANTIATE_TEST_SUITE_P(Each, TransportContract,
                         testing::Values(TransportKind::kCpprest, TransportKind::kBeast),
                         [](const auto& each) {
                           return each.param == TransportKind::kCpprest ? "Cpprest" : "Beast";
                         });

TEST(TransportFactory, FallsBackWhereCpprestCannot) {
  EXPECT_EQ(transport_kind_of("cpprest"), TransportKind::kCpprest);
  EXPECT_EQ(transport_kind_of("beast"), TransportKind::kBeast);
  EXPECT_EQ(transport_kind_of("curl"), std::nullopt);
  ClusterConfig config;
  config.server = "https://10.0.0.1";
  EXPECT_EQ(why_not_cpprest(config), "");
  config.server = "https://[::1]:6443";
  EXPECT_THAT(why_not_cpprest(config), HasSubstr("IPv6"));
  boost::asio::io_context io;
  EXPECT_TRUE(
      make_transport(TransportKind::kCpprest, io.get_executor(), system_clock(), config).ok());
}

}  // namespace
}  // namespace kantha::kube
