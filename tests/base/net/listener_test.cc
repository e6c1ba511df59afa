#include "base/net/listener.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/base/net/loopback.h"

namespace kantha::net {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/// Answers with a fixed word, and counts.
HttpHandler answering(std::string word, std::atomic<int>* count = nullptr) {
  return [word = std::move(word), count](HttpRequest, ResponseWriter& writer) {
    if (count != nullptr) ++*count;
    return [](ResponseWriter* answer, std::string body) -> Task<void> {
      HttpResponse response = {.body = std::move(body)};
      (void)co_await answer->send(std::move(response));
    }(&writer, word);
  };
}

Result<Endpoint> listen_with(LoopbackServer& server, const Endpoint& endpoint) {
  return server.on_loop([&] { return server.server().listen(endpoint); });
}

TEST(Listen, NamesThePortThatIsInUse) {
  LoopbackServer server(answering("first"));
  const std::uint16_t port = server.endpoint().port;
  EXPECT_NE(port, 0);
  const Result<Endpoint> again = listen_with(server, server.endpoint());
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::kAlreadyExists);
  EXPECT_EQ(again.error().message, "port " + std::to_string(port) + " on 127.0.0.1 is in use");
}

TEST(Listen, RefusesWhatIsNoAddressOfThisMachine) {
  LoopbackServer server(answering("first"));
  const TempDir dir;
  const std::vector<Endpoint> wrong = {{.host = "example.invalid", .port = 1},
                                       {.host = "192.0.2.1", .port = 1},
                                       {.unix_path = dir.file("no/such/folder/x.sock")},
                                       {.unix_path = std::string(108, 'x')}};
  for (const Endpoint& endpoint : wrong) {
    const Result<Endpoint> result = listen_with(server, endpoint);
    ASSERT_FALSE(result.ok()) << endpoint.to_string();
    EXPECT_EQ(result.error().code, Code::kInvalidArgument) << result.error().message;
  }
  EXPECT_THAT(listen_with(server, wrong.back()).error().message, HasSubstr("at most 107 bytes"));
}

TEST(Listen, ServesSeveralEndpointsAtOnce) {
  LoopbackServer server(answering("both"));
  const TempDir dir;
  ASSERT_TRUE(listen_with(server, {.unix_path = dir.file("s")}).ok());
  for (const Endpoint& endpoint : {server.endpoint(), Endpoint{.unix_path = dir.file("s")}}) {
    RawPeer client(endpoint);
    client.send(kGet);
    EXPECT_THAT(client.read_answer(), HasSubstr("both"));
  }
}

/// The word that the server at that address answers.
bool answers(const Endpoint& endpoint, const char* word) {
  RawPeer client(endpoint);
  client.send(kGet);
  return client.read_answer().find(word) != std::string::npos;
}

TEST(Listen, AStarIsEveryAddressOfBothFamilies) {
  LoopbackServer server(answering("all"), {}, {.host = "*"});
  const std::uint16_t port = server.endpoint().port;
  EXPECT_TRUE(answers({.host = "127.0.0.1", .port = port}, "all"));
  const Result<Endpoint> again = listen_with(server, {.host = "*", .port = port});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().message, "port " + std::to_string(port) + " on * is in use");
  if (!listen_with(server, {.host = "::1"}).ok()) {
    GTEST_SKIP() << "*** no IPv6 on this machine: half of this test did not run ***";
  }
  EXPECT_TRUE(answers({.host = "::1", .port = port}, "all"));
}

TEST(Listen, AnAddressOfOneFamilyLeavesTheOtherAlone) {
  LoopbackServer six(answering("six"));
  const Result<Endpoint> at = listen_with(six, {.host = "::"});
  if (!at.ok()) GTEST_SKIP() << "*** no IPv6 on this machine: this test did not run ***";
  LoopbackServer four(answering("four"));
  ASSERT_TRUE(listen_with(four, {.host = "0.0.0.0", .port = at->port}).ok());
  EXPECT_TRUE(answers({.host = "::1", .port = at->port}, "six"));
  EXPECT_TRUE(answers({.host = "127.0.0.1", .port = at->port}, "four"));
}

TEST(Listen, KeepsItsUnixSocketToItsUserAndRemovesIt) {
  const TempDir dir;
  const Endpoint endpoint = {.unix_path = dir.file("s")};
  {
    LoopbackServer server(answering("private"), {}, endpoint);
    struct stat info = {};
    ASSERT_EQ(::stat(endpoint.unix_path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
  }
  EXPECT_FALSE(std::filesystem::exists(endpoint.unix_path));
}

TEST(Listen, ReplacesAStaleUnixSocketOnly) {
  const TempDir dir;
  const Endpoint endpoint = {.unix_path = dir.file("s")};
  const auto stale = open_listener(endpoint);
  ASSERT_TRUE(stale.ok());
  LoopbackServer server(answering("live"));
  EXPECT_EQ(listen_with(server, endpoint).error().code, Code::kAlreadyExists) << "still alive";
  ::close(stale->first);
  EXPECT_TRUE(listen_with(server, endpoint).ok()) << "its owner is gone";
  EXPECT_EQ(listen_with(server, endpoint).error().code, Code::kAlreadyExists) << "our own";
  const Endpoint file = {.unix_path = dir.file("plain file")};
  ::close(::creat(file.unix_path.c_str(), 0600));
  EXPECT_EQ(listen_with(server, file).error().code, Code::kAlreadyExists) << "not a socket";
  EXPECT_TRUE(std::filesystem::exists(file.unix_path));
}

TEST(Adopt, SharesOneListeningSocketAmongServers) {
  const auto shared = open_listener({.host = "127.0.0.1"});
  ASSERT_TRUE(shared.ok());
  std::atomic<int> first_count = 0;
  std::atomic<int> second_count = 0;
  auto first = std::make_unique<LoopbackServer>(answering("same", &first_count));
  LoopbackServer second(answering("same", &second_count));
  for (LoopbackServer* server : {first.get(), &second}) {
    const int copy = ::dup(shared->first);
    const auto adopted = server->on_loop([&] { return server->server().adopt(copy); });
    ASSERT_TRUE(adopted.ok());
    EXPECT_EQ(adopted->port, shared->second.port);
  }
  ::close(shared->first);
  for (int i = 0; i < 100; ++i) {
    RawPeer client(shared->second);
    client.send(kGet);
    ASSERT_THAT(client.read_answer(), StartsWith("HTTP/1.1 200 "));
  }
  EXPECT_EQ(first_count + second_count, 100);
  first.reset();
  for (int i = 0; i < 10; ++i) {
    RawPeer client(shared->second);
    client.send(kGet);
    ASSERT_THAT(client.read_answer(), StartsWith("HTTP/1.1 200 ")) << "the other serves on";
  }
}

TEST(Adopt, RefusesWhatDoesNotListen) {
  LoopbackServer server(answering("none"));
  const int plain = ::socket(AF_INET, SOCK_STREAM, 0);
  for (const int fd : {-1, plain}) {
    const auto adopted = server.on_loop([&] { return server.server().adopt(fd); });
    ASSERT_FALSE(adopted.ok());
    EXPECT_EQ(adopted.error().code, Code::kInvalidArgument);
  }
}

TEST(Accept, SurvivesRunningOutOfDescriptors) {
  LoopbackServer server(answering("here"));
  RawPeer client(server.endpoint());
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int free_fd = ::dup(client.fd());
  ::close(free_fd);
  RawPeer waiting(server.endpoint());
  ASSERT_TRUE(eventually([&] { return server.open_connections() == 2; }));
  // The next descriptor that this process may open is one for the test's side only.
  const int lowest = ::dup(client.fd());
  ::close(lowest);
  const rlimit tight = {.rlim_cur = static_cast<rlim_t>(lowest) + 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  RawPeer starved(server.endpoint());
  starved.send(kGet);
  client.send(kGet);
  EXPECT_THAT(client.read_answer(), HasSubstr("here")) << "open connections go on";
  EXPECT_EQ(server.open_connections(), 2u);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(starved.read_answer(), HasSubstr("here")) << "accepted as soon as it can be";
}

}  // namespace
}  // namespace kantha::net
