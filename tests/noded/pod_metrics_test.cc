#include <gtest/gtest.h>
#include <stdlib.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/json.h"
#include "base/net/http_server.h"
#include "noded/pod_daemon.h"
#include "tests/base/metric_kinds.h"

namespace kantha::noded {
namespace {

class PodMetricsTest : public testing::Test {
 protected:
  PodMetricsTest() {
    char pattern[] = "/tmp/kantha-pod-XXXXXX";
    folder_ = mkdtemp(pattern);
    options_.pod = "p-0";
    options_.engine_external = true;
    options_.engine_config = folder_ + "/engine.json";
    options_.engine_socket = folder_ + "/engine.sock";
    options_.listen = {.host = "127.0.0.1", .port = 0};
    options_.admin = {.unix_path = folder_ + "/admin.sock"};
  }
  ~PodMetricsTest() override { std::filesystem::remove_all(folder_); }

  /// GET of the admin port of a pod that has no engine.
  net::HttpResponse admin(std::string target) {
    boost::asio::io_context context(1);
    PodDaemon daemon(context, options_, system_clock());
    EXPECT_TRUE(daemon.start().ok());
    net::HttpClient client(context.get_executor());
    net::HttpResponse page;
    net::TaskGroup group(context.get_executor(), "test");
    const auto ask = [&]() -> net::Task<void> {
      net::HttpRequest request;
      request.target = std::move(target);
      auto answer =
          co_await client.call(options_.admin, std::move(request), std::chrono::seconds(5));
      EXPECT_TRUE(answer.ok());
      if (answer.ok()) page = std::move(answer).value();
      daemon.shut_down();
      daemon.shut_down();
    };
    group.spawn(ask());
    context.run_for(std::chrono::seconds(20));
    context.restart();
    context.poll();
    return page;
  }

  std::string folder_;
  Options options_;
};

TEST_F(PodMetricsTest, ThePageAndTheScrapeNameTheSameSeries) {
  EXPECT_EQ(test::scraped_kinds(admin("/metrics").body),
            test::documented_kinds(KANTHA_METRICS_PAGE));
}

TEST_F(PodMetricsTest, AStartWithAWrongKeyFileFailsAndNamesIt) {
  options_.api_keys_file = folder_ + "/keys.json";
  std::ofstream(options_.api_keys_file) << R"({"keys":[{"tenant":"blue"}]})";
  boost::asio::io_context context(1);
  PodDaemon daemon(context, options_, system_clock());
  const Status started = daemon.start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().message,
            "--api-keys-file: " + options_.api_keys_file + ": keys[0].sha256: required");
}

TEST_F(PodMetricsTest, TheStateSaysHowManyKeysAreListed) {
  options_.api_keys_file = folder_ + "/keys.json";
  std::ofstream(options_.api_keys_file) << R"({"keys":[]})";
  const Result<Json> state = parse_json(admin("/admin/v1/state").body);
  ASSERT_TRUE(state.ok());
  EXPECT_EQ((*state)["asks_for_keys"], true);
  EXPECT_EQ((*state)["api_keys"], 0);
  EXPECT_EQ((*state)["api_keys_error"], "");
}

/// An engine on the socket, with a pressure that the test sets.
net::Task<void> say(const double& pressure, net::HttpRequest request, net::ResponseWriter& writer) {
  net::HttpResponse response;
  if (request.path() == "/admin/v1/state") {
    response.body =
        dump_json(Json{{"pid", 7}, {"kv", Json{{"blocks_total", 10}, {"pressure", pressure}}}});
  }
  const Status sent = co_await writer.send(std::move(response));
  static_cast<void>(sent);
}

TEST_F(PodMetricsTest, TheStateHasTheEnginesNumbersOfNow) {
  boost::asio::io_context context(1);
  FakeClock clock;
  clock.advance(std::chrono::seconds(100));
  double pressure = 0.5;
  net::HttpServer engine(context.get_executor(),
                         [&](net::HttpRequest request, net::ResponseWriter& writer) {
                           return say(pressure, std::move(request), writer);
                         });
  ASSERT_TRUE(engine.listen({.unix_path = options_.engine_socket}).ok());
  PodDaemon daemon(context, options_, clock);
  ASSERT_TRUE(daemon.start().ok());
  net::HttpClient client(context.get_executor());
  net::TaskGroup group(context.get_executor(), "test");
  const auto ask = [&]() -> net::Task<Json> {
    net::HttpRequest request;
    request.target = "/admin/v1/state";
    auto answer = co_await client.call(options_.admin, std::move(request), std::chrono::seconds(5));
    const Result<Json> state = parse_json(answer.ok() ? answer->body : "{}");
    co_return state.ok() ? *state : Json::object();
  };
  const auto test = [&]() -> net::Task<void> {
    Json state = Json::object();
    for (int i = 0; i < 2'000 && state.value("phase", "") != "ready"; ++i) {
      state = co_await ask();
      co_await net::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(state.value("phase", ""), "ready") << state;
    // Within the second in which the daemon asks by itself nothing but the question can tell.
    for (int i = 1; i <= 4; ++i) {
      pressure = i;
      clock.advance(std::chrono::milliseconds(200));
      state = co_await ask();
      EXPECT_EQ(state.value("kv_pressure", 0.0), i) << state;
      EXPECT_EQ(state.value("age_ms", -1), 0) << state;
    }
    daemon.shut_down();
    daemon.shut_down();
    engine.close();
  };
  group.spawn(test());
  context.run_for(std::chrono::seconds(20));
  context.restart();
  context.poll();
}

}  // namespace
}  // namespace kantha::noded
