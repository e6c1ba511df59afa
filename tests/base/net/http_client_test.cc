#include "base/net/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/net/task_group.h"
#include "tests/base/net/loopback.h"

namespace kantha::net {
namespace {

using boost::asio::io_context;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using OpenResult = Result<std::unique_ptr<ResponseStream>>;

constexpr Duration kPatience = seconds(5);
const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

Task<void> echo(HttpRequest request, ResponseWriter& writer) {
  HttpResponse response = {.status = 201, .headers = {{"X-Host", ""}}};
  response.headers.set("X-Host", std::string(request.headers.find("host").value_or("none")));
  response.body = request.method + " " + request.target + " " + request.body;
  (void)co_await writer.send(std::move(response));
}

Task<void> stream_two(HttpRequest, ResponseWriter& writer) {
  (void)co_await writer.start(200, {});
  (void)co_await writer.write("one");
  co_await sleep_for(milliseconds(50));
  (void)co_await writer.write("two");
  (void)co_await writer.finish();
}

/// One call of a fresh client.
Result<HttpResponse> call_once(const Endpoint& endpoint, HttpRequest request,
                               Duration timeout = kPatience, std::size_t bytes_max = 1u << 20) {
  io_context io;
  HttpClient client(io.get_executor());
  return run_on(io, client.call(endpoint, std::move(request), timeout, bytes_max));
}

Code code_of(const auto& result) {
  return result.ok() ? Code::kUnimplemented : result.error().code;
}

TEST(HttpClient, CallsAServer) {
  LoopbackServer server(echo);
  const Result<HttpResponse> answer =
      call_once(server.endpoint(), {.method = "POST", .target = "/x?y", .body = "hello"});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->body, "POST /x?y hello");
  EXPECT_EQ(answer->headers.find("x-host"), server.endpoint().to_string());
}

TEST(HttpClient, CallsAServerOnAUnixSocket) {
  const TempDir dir;
  LoopbackServer server(echo, {}, {.unix_path = dir.file("http.sock")});
  EXPECT_TRUE(server.endpoint().is_unix());
  const Result<HttpResponse> answer = call_once(server.endpoint(), {.target = "/u"});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->body, "GET /u ");
  EXPECT_EQ(answer->headers.find("x-host"), "localhost");
}

TEST(HttpClient, LooksUpHostNames) {
  LoopbackServer server(echo);
  Endpoint named = server.endpoint();
  named.host = "localhost";
  EXPECT_TRUE(call_once(named, {}).ok());
  named.host = "no-such-host.invalid";
  EXPECT_EQ(code_of(call_once(named, {})), Code::kUnavailable);
}

TEST(HttpClient, CarriesLargeBodiesBothWays) {
  LoopbackServer server(echo);
  const std::string large(3u << 20, 'b');
  const Result<HttpResponse> answer =
      call_once(server.endpoint(), {.method = "POST", .body = large}, kPatience, 8u << 20);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->body.size(), large.size() + 7);
}

TEST(HttpClient, KeepsItsConnection) {
  LoopbackServer server(echo);
  io_context io;
  HttpClient client(io.get_executor());
  for (const char* method : {"GET", "HEAD", "POST", "GET"}) {
    HttpRequest request = {.method = method};
    const auto answer = run_on(io, client.call(server.endpoint(), std::move(request), kPatience));
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->body.empty(), std::string_view(method) == "HEAD");
  }
  EXPECT_EQ(server.open_connections(), 1u);
}

TEST(HttpClient, RefusesRequestsThatWouldBreakTheFraming) {
  const Endpoint nowhere = {.host = "127.0.0.1", .port = 1};
  EXPECT_EQ(code_of(call_once(nowhere, {.target = "/a b"})), Code::kInvalidArgument);
  EXPECT_EQ(code_of(call_once(nowhere, {.method = "G T"})), Code::kInvalidArgument);
  EXPECT_EQ(code_of(call_once(nowhere, {.headers = {{"A", "b\r\nC: d"}}})), Code::kInvalidArgument);
  EXPECT_EQ(code_of(call_once(nowhere, {.headers = {{"A:", "b"}}})), Code::kInvalidArgument);
}

TEST(HttpClient, SaysThatNobodyIsThere) {
  const TempDir dir;
  const auto refused = call_once({.host = "127.0.0.1", .port = 1}, {});
  EXPECT_EQ(code_of(refused), Code::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("127.0.0.1:1"));
  EXPECT_EQ(code_of(call_once({.unix_path = dir.file("none")}, {})), Code::kUnavailable);
  const auto too_long = call_once({.unix_path = std::string(108, 'x')}, {});
  EXPECT_EQ(code_of(too_long), Code::kInvalidArgument);
}

struct Answer {
  const char* name;
  std::string bytes;
  Code code;
  std::string body;
};

std::vector<Answer> scripted_answers() {
  constexpr Code kFine = Code::kUnimplemented;
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  return {
      {"with a length", kOk, kFine, "ok"},
      {"until close", ok + "\r\nall the rest", kFine, "all the rest"},
      {"chunked", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", kFine,
       "abc"},
      {"after interim answers",
       "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" + kOk, kFine, "ok"},
      {"no content", "HTTP/1.1 204 No Content\r\n\r\n", kFine, ""},
      {"cut with a length", ok + "Content-Length: 9\r\n\r\nabc", Code::kDataLoss, ""},
      {"cut chunks", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nab", Code::kDataLoss, ""},
      {"no last chunk", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", Code::kDataLoss, ""},
      {"cut head", "HTTP/1.1 200 OK\r\nContent-", Code::kDataLoss, ""},
      {"nothing", "", Code::kDataLoss, ""},
      {"not HTTP", "SSH-2.0-OpenSSH\r\n", Code::kDataLoss, ""},
      {"bad chunk", ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", Code::kDataLoss, ""},
      {"both framings", ok + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
       Code::kDataLoss, ""},
      {"long head", ok + "A: " + std::string(70000, 'a') + "\r\n\r\n", Code::kOutOfRange, ""},
      {"large body", ok + "Content-Length: 101\r\n\r\n" + std::string(101, 'x'), Code::kOutOfRange,
       ""},
  };
}

TEST(HttpClient, ReadsEveryFramingAndNamesEveryFault) {
  for (const Answer& answer : scripted_answers()) {
    ScriptedServer server([&answer](RawPeer& peer, int) {
      peer.read_until("\r\n\r\n");
      peer.send(answer.bytes);
    });
    const auto got = call_once(server.endpoint(), {}, kPatience, 100);
    EXPECT_EQ(code_of(got), answer.code) << answer.name;
    if (got.ok()) EXPECT_EQ(got->body, answer.body) << answer.name;
  }
}

TEST(HttpClient, StopsWaitingAtItsDeadline) {
  std::atomic<bool> is_done = false;
  ScriptedServer server([&is_done](RawPeer& peer, int number) {
    if (number == 1) peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
    EXPECT_TRUE(peer.sees_end());
    is_done = true;
  });
  for (int i = 0; i < 2; ++i) {
    const TimePoint began = system_clock().now();
    EXPECT_EQ(code_of(call_once(server.endpoint(), {}, milliseconds(60))), Code::kDeadlineExceeded);
    EXPECT_LT(system_clock().now() - began, seconds(1));
  }
  EXPECT_TRUE(eventually([&] { return is_done.load(); }));
}

TEST(HttpClient, GivesPiecesAsTheyArrive) {
  LoopbackServer server(stream_two);
  io_context io;
  HttpClient client(io.get_executor());
  for (int i = 0; i < 2; ++i) {
    OpenResult opened = run_on(io, client.open(server.endpoint(), {}, kPatience));
    ASSERT_TRUE(opened.ok());
    ResponseStream& stream = **opened;
    EXPECT_EQ(*run_on(io, stream.read(kPatience)), "one");
    EXPECT_EQ(code_of(run_on(io, stream.read(milliseconds(1)))), Code::kDeadlineExceeded);
    EXPECT_EQ(*run_on(io, stream.read(kPatience)), "two") << "a pause loses nothing";
    EXPECT_EQ(*run_on(io, stream.read(kPatience)), "");
    EXPECT_EQ(*run_on(io, stream.read(kPatience)), "");
  }
  EXPECT_EQ(server.open_connections(), 1u) << "the connection went back to the pool";
}

TEST(HttpClient, ClosesAStreamThatIsDroppedEarly) {
  LoopbackServer server(stream_two);
  io_context io;
  HttpClient client(io.get_executor());
  {
    OpenResult opened = run_on(io, client.open(server.endpoint(), {}, kPatience));
    ASSERT_TRUE(opened.ok());
    EXPECT_EQ(server.open_connections(), 1u);
  }
  EXPECT_TRUE(eventually([&] { return server.open_connections() == 0; }));
}

Task<void> cancel_soon(ResponseStream* stream) {
  co_await sleep_for(milliseconds(20));
  stream->cancel();
}

TEST(HttpClient, CancelEndsAPendingRead) {
  ScriptedServer server([](RawPeer& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    EXPECT_TRUE(peer.sees_end());
  });
  io_context io;
  HttpClient client(io.get_executor());
  TaskGroup group(io.get_executor(), "test");
  OpenResult opened = run_on(io, client.open(server.endpoint(), {}, kPatience));
  ASSERT_TRUE(opened.ok());
  group.spawn(cancel_soon(opened->get()));
  EXPECT_EQ(code_of(run_on(io, (*opened)->read(kPatience))), Code::kCancelled);
  EXPECT_EQ(code_of(run_on(io, (*opened)->read(kPatience))), Code::kCancelled);
}

Task<void> signal_soon(std::shared_ptr<CancelSignal> signal) {
  co_await sleep_for(milliseconds(20));
  signal->cancel();
}

/// The code of an open() that is signalled while it waits.
Code open_and_signal(const Endpoint& endpoint, bool is_early) {
  io_context io;
  HttpClient client(io.get_executor());
  TaskGroup group(io.get_executor(), "test");
  const auto signal = std::make_shared<CancelSignal>();
  if (is_early) signal->cancel();
  group.spawn(signal_soon(signal));
  const TimePoint began = system_clock().now();
  const Code code = code_of(run_on(io, client.open(endpoint, {}, kPatience, signal)));
  EXPECT_LT(system_clock().now() - began, seconds(1));
  run_on(io, [](TaskGroup* joined) -> Task<int> {
    co_await joined->join();
    co_return 0;
  }(&group));
  return code;
}

TEST(HttpClient, ASignalEndsAnOpenThatWaitsForHeaders) {
  ScriptedServer server([](RawPeer& peer, int) { EXPECT_TRUE(peer.sees_end()); });
  EXPECT_EQ(open_and_signal(server.endpoint(), false), Code::kCancelled);
  EXPECT_EQ(open_and_signal(server.endpoint(), true), Code::kCancelled);
}

TEST(HttpClient, ASignalEndsAnOpenThatConnects) {
  // A full backlog that nobody accepts from: further connects hang.
  const auto full = open_listener({.host = "127.0.0.1"});
  ASSERT_TRUE(full.ok());
  ASSERT_EQ(::listen(full->first, 0), 0);
  const RawPeer occupant(full->second);
  EXPECT_EQ(open_and_signal(full->second, false), Code::kCancelled);
  EXPECT_EQ(code_of(call_once(full->second, {}, milliseconds(30))), Code::kDeadlineExceeded);
  ::close(full->first);
}

TEST(HttpClient, ALateSignalLeavesAKeptConnectionAlone) {
  LoopbackServer server(stream_two);
  io_context io;
  HttpClient client(io.get_executor());
  const auto signal = std::make_shared<CancelSignal>();
  {
    OpenResult opened = run_on(io, client.open(server.endpoint(), {}, kPatience, signal));
    ASSERT_TRUE(opened.ok());
    while (!run_on(io, (*opened)->read(kPatience))->empty()) {
    }
  }
  OpenResult second = run_on(io, client.open(server.endpoint(), {}, kPatience));
  ASSERT_TRUE(second.ok());
  signal->cancel();
  EXPECT_EQ(*run_on(io, (*second)->read(kPatience)), "one");
  EXPECT_EQ(server.open_connections(), 1u);
}

/// Closes each connection after one answer without saying so, at the moment of the next request.
void answer_once(RawPeer& peer, int number) {
  peer.read_until("\r\n\r\n");
  peer.send(kOk);
  if (number == 0) peer.read_until("\r\n\r\n");
}

TEST(HttpClient, TriesAgainOnAFreshConnectionWhatMayBeRepeated) {
  for (const std::string method : {"GET", "HEAD", "POST"}) {
    ScriptedServer server(answer_once);
    io_context io;
    HttpClient client(io.get_executor());
    const auto first = run_on(io, client.call(server.endpoint(), {.method = "GET"}, kPatience));
    ASSERT_TRUE(first.ok());
    HttpRequest request = {.method = method};
    const auto second = run_on(io, client.call(server.endpoint(), std::move(request), kPatience));
    if (method == "POST") {
      EXPECT_EQ(code_of(second), Code::kDataLoss) << "it may have been carried out";
      EXPECT_EQ(server.connection_count(), 1);
    } else {
      EXPECT_TRUE(second.ok()) << method;
      EXPECT_EQ(server.connection_count(), 2);
    }
  }
}

/// A POST on a kept connection that its caller allows to be repeated.
struct Repeat {
  Code code;  ///< kUnimplemented: none
  int resends;
  int connections;
};
Repeat repeat_on_kept(std::function<void(RawPeer& peer, int number)> script) {
  ScriptedServer server(std::move(script));
  io_context io;
  HttpClient client(io.get_executor());
  EXPECT_TRUE(run_on(io, client.call(server.endpoint(), {.method = "GET"}, kPatience)).ok());
  HttpRequest request = {.method = "POST", .body = "x", .may_be_repeated = true};
  int resends = 0;
  const OpenResult opened = run_on(
      io, client.open(server.endpoint(), std::move(request), kPatience, {}, [&] { ++resends; }));
  return {code_of(opened), resends, server.connection_count()};
}

TEST(HttpClient, TriesAPostAgainOnceWhereItsCallerAllows) {
  const Repeat again = repeat_on_kept(answer_once);
  EXPECT_EQ(again.code, Code::kUnimplemented);
  EXPECT_EQ(again.resends, 1);
  EXPECT_EQ(again.connections, 2);
  const Repeat in_vain = repeat_on_kept([](RawPeer& peer, int number) {
    if (number == 0) return answer_once(peer, number);
    peer.read_until("\r\n\r\n");
  });
  EXPECT_EQ(in_vain.code, Code::kDataLoss) << "the fresh one was closed, too";
  EXPECT_EQ(in_vain.resends, 1);
  EXPECT_EQ(in_vain.connections, 2);
  const Repeat begun = repeat_on_kept([](RawPeer& peer, int number) {
    answer_once(peer, number);
    peer.send("H");
  });
  EXPECT_EQ(begun.code, Code::kDataLoss) << "the answer had begun";
  EXPECT_EQ(begun.resends, 0);
  EXPECT_EQ(begun.connections, 1);
}

TEST(HttpClient, TakesNoConnectionThatWasClosedMeanwhile) {
  ScriptedServer server([](RawPeer& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send(kOk);
  });
  io_context io;
  HttpClient client(io.get_executor());
  for (int i = 0; i < 3; ++i) {
    HttpRequest request = {.method = "POST"};
    const auto answer = run_on(io, client.call(server.endpoint(), std::move(request), kPatience));
    ASSERT_TRUE(answer.ok());
    // Its FIN is on the way; a request that is sent before it arrives would be lost.
    ::poll(nullptr, 0, 20);
  }
  EXPECT_EQ(server.connection_count(), 3);
}

TEST(HttpClient, ReadsTheRefusalOfABodyThatIsTooLong) {
  LoopbackServer server(echo, {.body_bytes_max = 1000});
  HttpRequest request = {.method = "POST", .body = std::string(6u << 20, 'x')};
  const auto answer = call_once(server.endpoint(), std::move(request));
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->status, 413);
}

TEST(HttpClient, ManyCallsAtOnceGetTheirOwnAnswers) {
  LoopbackServer server(echo);
  io_context io;
  HttpClient client(io.get_executor());
  TaskGroup group(io.get_executor(), "test");
  int right = 0;
  for (int i = 0; i < 200; ++i) {
    group.spawn([](HttpClient* shared, Endpoint endpoint, int id, int* count) -> Task<void> {
      const std::string target = "/" + std::to_string(id);
      HttpRequest request = {.target = target};
      const auto answer = co_await shared->call(endpoint, std::move(request), kPatience);
      if (answer.ok() && answer->body == "GET " + target + " ") ++*count;
    }(&client, server.endpoint(), i, &right));
  }
  io.run();
  EXPECT_EQ(right, 200);
}

}  // namespace
}  // namespace kantha::net
