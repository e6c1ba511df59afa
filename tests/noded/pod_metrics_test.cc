#include <gtest/gtest.h>
#include <stdlib.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

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

}  // namespace
}  // namespace kantha::noded
