#include "tests/fake/api_server/fake_transport.h"

#include <gtest/gtest.h>

#include <deque>

#include <boost/asio/io_context.hpp>

#include "base/net/virtual_time.h"

namespace kantha::fake {
namespace {

using namespace std::chrono_literals;

constexpr kube::Resource kMaps{"", "v1", "configmaps", "ConfigMap"};
constexpr const char* kMapsPath = "/api/v1/namespaces/default/configmaps";

Json config_map(const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}}}};
}

/// What one watch told, line by line as "TYPE name", and how it ended.
struct Told {
  std::vector<std::string> lines;
  std::string rest;  ///< bytes of a line that never became whole
  std::string end;
  int status = 0;
};

net::Task<void> watch_all(FakeTransport& transport, std::string query, Told& told) {
  net::HttpRequest request{.target = std::string(kMapsPath) + "?watch=true" + query};
  auto opened = co_await transport.open(std::move(request), 10s);
  if (!opened.ok()) {
    told.end = code_name(opened.error().code);
    co_return;
  }
  const auto stream = std::move(opened).value();
  told.status = stream->status();
  while (true) {
    auto piece = co_await stream->read(1h);
    if (!piece.ok()) {
      told.end = code_name(piece.error().code);
      co_return;
    }
    if (piece->empty()) break;
    told.rest += *piece;
    for (auto at = told.rest.find('\n'); at != std::string::npos; at = told.rest.find('\n')) {
      const Json event = Json::parse(told.rest.substr(0, at), nullptr, false);
      told.rest.erase(0, at + 1);
      if (event.is_discarded() || !event.contains("type")) continue;
      const Json& object = event["object"];
      const std::string type = event["type"];
      told.lines.push_back(type + " " +
                           (type == "ERROR" ? object["reason"].get<std::string>()
                                            : object["metadata"].value("name", "")));
    }
  }
  told.end = "ended";
}

net::Task<void> post(FakeTransport& transport, std::string name, std::string& result) {
  net::HttpRequest request{.method = "POST", .target = kMapsPath};
  request.body = dump_json(config_map(name));
  auto answer = co_await transport.call(std::move(request), 5s, 1u << 20);
  result =
      answer.ok() ? std::to_string(answer->status) : std::string(code_name(answer.error().code));
}

class FakeTransportTest : public testing::Test {
 protected:
  void TearDown() override {
    transport_.close();
    server_.stop();
    time_.run_for(1h);
  }
  void make(const std::string& name) { server_.create(kMaps, config_map(name), "user"); }
  void remove(const std::string& name) { server_.remove(kMaps, {"default", name}, "user"); }
  std::string posted(const std::string& name) {
    std::string result;
    tasks_.spawn(post(transport_, name, result));
    time_.run_for(10s);
    return result;
  }

  std::deque<Told> tolds_;  ///< outlive the coroutines that fill them
  boost::asio::io_context context_;
  FakeClock clock_;
  net::VirtualTime time_{context_, clock_};
  net::TaskGroup tasks_{context_.get_executor(), "test"};
  FakeApiServer server_{context_.get_executor(), clock_};
  FakeTransport transport_{server_, "test/1"};
};

TEST_F(FakeTransportTest, AWatchTellsWhatHappensUntilTheServerEndsIt) {
  Told& told = tolds_.emplace_back();
  make("old");
  tasks_.spawn(watch_all(transport_, "&allowWatchBookmarks=true&timeoutSeconds=90", told));
  time_.run_for(1s);
  make("new");
  remove("old");
  time_.run_for(2min);
  EXPECT_EQ(told.lines, (std::vector<std::string>{"ADDED old", "ADDED new", "DELETED old",
                                                  "BOOKMARK ", "BOOKMARK "}));
  EXPECT_EQ(told.end, "ended");
}

TEST_F(FakeTransportTest, AWatchListEndsItsFirstPartWithABookmark) {
  Told& told = tolds_.emplace_back();
  make("a");
  make("b");
  tasks_.spawn(watch_all(transport_,
                         "&allowWatchBookmarks=true&sendInitialEvents=true"
                         "&resourceVersionMatch=NotOlderThan&timeoutSeconds=1",
                         told));
  time_.run_for(500ms);
  EXPECT_EQ(told.lines, (std::vector<std::string>{"ADDED a", "ADDED b", "BOOKMARK "}));
}

TEST_F(FakeTransportTest, AnOldVersionIsGoneInEitherForm) {
  make("a");
  server_.compact();
  make("b");
  Told& in_stream = tolds_.emplace_back();
  tasks_.spawn(watch_all(transport_, "&resourceVersion=1", in_stream));
  time_.run_for(1s);
  EXPECT_EQ(in_stream.lines, (std::vector<std::string>{"ERROR Expired"}));
  server_.options().expired_as_status = true;
  Told& as_status = tolds_.emplace_back();
  tasks_.spawn(watch_all(transport_, "&resourceVersion=1", as_status));
  time_.run_for(1s);
  EXPECT_EQ(as_status.status, 410);
}

TEST_F(FakeTransportTest, SelectorsMakeAndUnmakeObjectsForAWatch) {
  make("a");
  Told& told = tolds_.emplace_back();
  tasks_.spawn(watch_all(transport_, "&labelSelector=on%3Dyes&timeoutSeconds=60", told));
  const auto label = [&](const Json& labels) {
    server_.edit(
        kMaps, {"default", "a"}, [&](Json& object) { object["metadata"]["labels"] = labels; },
        "user");
    time_.run_for(1s);
  };
  time_.run_for(1s);
  label({{"on", "yes"}});
  label({{"on", "yes"}, {"more", "1"}});
  label({{"on", "no"}});
  time_.run_for(2min);
  EXPECT_EQ(told.lines, (std::vector<std::string>{"ADDED a", "MODIFIED a", "DELETED a"}));
}

TEST_F(FakeTransportTest, FaultsStrikeBeforeOrAfterTheServerDidIt) {
  struct Case {
    FaultKind kind;
    const char* result;
    bool happened;
  };
  const Case cases[] = {
      {FaultKind::kNone, "201", true},
      {FaultKind::kRefuse, "unavailable", false},
      {FaultKind::kDropAnswer, "data_loss", true},
      {FaultKind::kHang, "deadline_exceeded", true},
      {FaultKind::kErrorBefore, "500", false},
      {FaultKind::kErrorAfter, "500", true},
      {FaultKind::kThrottle, "429", false},
      {FaultKind::kForbid, "403", false},
      {FaultKind::kGarble, "200", true},
  };
  for (const Case& c : cases) {
    const std::string name = "n" + std::to_string(static_cast<int>(c.kind));
    SCOPED_TRACE(name);
    transport_.set_faults([&](auto, const auto&) { return Fault{.kind = c.kind}; });
    EXPECT_EQ(posted(name), c.result);
    EXPECT_EQ(server_.find(kMaps, {"default", name}) != nullptr, c.happened);
  }
}

TEST_F(FakeTransportTest, ACrashIsForEver) {
  for (const bool after : {false, true}) {
    FakeTransport transport(server_, "test/1");
    bool told = false;
    transport.on_crash([&] { told = true; });
    transport.set_faults(crash_at(1, after));
    std::vector<std::string> results(3);
    for (int i = 0; i < 3; ++i) {
      tasks_.spawn(post(transport, std::string(after ? "a" : "b") + std::to_string(i), results[i]));
      time_.run_for(1s);
    }
    EXPECT_EQ(results, (std::vector<std::string>{"201", "cancelled", "cancelled"}));
    EXPECT_TRUE(told);
    EXPECT_EQ(server_.find(kMaps, {"default", after ? "a1" : "b1"}) != nullptr, after);
  }
}

TEST_F(FakeTransportTest, AFrozenViewShowsOldListsAndWatchesButFreshReads) {
  make("a");
  transport_.view().frozen_at = server_.store().version();
  make("b");
  Told& told = tolds_.emplace_back();
  tasks_.spawn(watch_all(transport_, "&resourceVersion=0&timeoutSeconds=60", told));
  time_.run_for(1s);
  EXPECT_EQ(told.lines, (std::vector<std::string>{"ADDED a"}));
  transport_.view().frozen_at.reset();
  make("c");
  time_.run_for(1s);
  EXPECT_EQ(told.lines, (std::vector<std::string>{"ADDED a", "ADDED b", "ADDED c"}));
}

TEST_F(FakeTransportTest, WatchesAreCutInTheMiddleOfALineAndLoseWhatTheyAreToldTo) {
  make("a");
  transport_.set_watch_faults([](auto, const auto&) { return WatchFault{.cut_after_bytes = 20}; });
  Told& cut = tolds_.emplace_back();
  tasks_.spawn(watch_all(transport_, "", cut));
  time_.run_for(1s);
  make("b");
  time_.run_for(1s);
  EXPECT_EQ(cut.lines.size(), 0U);
  EXPECT_EQ(cut.rest.size(), 20U);
  EXPECT_EQ(cut.end, "data_loss");
  transport_.set_watch_faults({});
  transport_.view().loses = [](const Kind&, const Change& change) {
    return change.path == "default/c";
  };
  Told& lossy = tolds_.emplace_back();
  tasks_.spawn(watch_all(transport_, "&timeoutSeconds=60", lossy));
  time_.run_for(1s);
  make("c");
  make("d");
  time_.run_for(1s);
  EXPECT_EQ(lossy.lines, (std::vector<std::string>{"ADDED a", "ADDED b", "ADDED d"}));
}

TEST_F(FakeTransportTest, APartitionAnswersNothingUntilItEnds) {
  transport_.set_cut_off(true);
  EXPECT_EQ(posted("a"), "deadline_exceeded");
  EXPECT_EQ(server_.find(kMaps, {"default", "a"}), nullptr);
  transport_.set_cut_off(false);
  EXPECT_EQ(posted("a"), "201");
}

TEST_F(FakeTransportTest, TheCollectorWorksOnVirtualTime) {
  tasks_.spawn(server_.run_collector());
  Json child = config_map("child");
  child["metadata"]["ownerReferences"] = Json::array({{{"uid", "nobody"}}});
  server_.create(kMaps, child, "user");
  time_.run_for(1s);
  EXPECT_EQ(server_.find(kMaps, {"default", "child"}), nullptr);
}

}  // namespace
}  // namespace kantha::fake
