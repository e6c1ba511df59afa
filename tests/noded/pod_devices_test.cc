#include "noded/pod_devices.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

#include "noded/pod_daemon.h"

namespace kantha::noded {
namespace {

TEST(PodDevices, RestartTheEngineForAnApplicationsErrorAndTellOfTheOthers) {
  const std::string library = std::string(std::getenv("KANTHA_BIN_DIR")) + "/libfake_nvml.so";
  ::setenv("KANTHA_FAKE_XIDS", "31,63,79", 1);
  boost::asio::io_context io;
  PodDevices devices(io.get_executor(), system_clock(), library);
  ::unsetenv("KANTHA_FAKE_XIDS");
  int restarts = 0;
  std::vector<std::string> left;
  devices.watch([&] { ++restarts; }, [&](std::string why) { left.push_back(std::move(why)); });
  const TimePoint end = system_clock().now() + std::chrono::seconds(5);
  const auto count = [&] {
    const Json xids = devices.state()["xids"];
    return xids.contains("GPU-1") ? xids["GPU-1"]["count"].get<int>() : 0;
  };
  while (count() < 3 && system_clock().now() < end) {
    io.restart();
    io.run_for(std::chrono::milliseconds(5));
  }
  const Json gpu = devices.state()["xids"]["GPU-1"];
  EXPECT_EQ(gpu["count"], 3);
  EXPECT_EQ(gpu["last"], 79);
  EXPECT_EQ(gpu["worst"], "fence_node");
  EXPECT_EQ(gpu["meaning"], "GPU has fallen off the bus");
  EXPECT_EQ(restarts, 1);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0], "GPU-1 needs its node restarted (Xid 79: GPU has fallen off the bus)");
  EXPECT_EQ(devices.state()["gpus"].size(), 2u);
}

/// A pod whose GPU fails right at its start.
class GpuLossTest : public testing::Test {
 protected:
  GpuLossTest() {
    char pattern[] = "/tmp/kantha-gpu-XXXXXX";
    folder_ = mkdtemp(pattern);
    const std::string bin = std::getenv("KANTHA_BIN_DIR");
    std::ofstream(folder_ + "/engine.json") << "{}";
    options_.engine_binary = bin + "/kantha-fake-engine";
    options_.engine_config = folder_ + "/engine.json";
    options_.engine_socket = folder_ + "/engine.sock";
    options_.gpu_library = bin + "/libfake_nvml.so";
    options_.listen.unix_path = folder_ + "/door.sock";
    options_.admin.unix_path = folder_ + "/admin.sock";
    ::setenv("KANTHA_FAKE_XIDS", "79", 1);
  }
  ~GpuLossTest() override {
    ::unsetenv("KANTHA_FAKE_XIDS");
    std::filesystem::remove_all(folder_);
  }

  net::Task<net::HttpResponse> call(net::Endpoint at, std::string method, std::string target) {
    net::HttpRequest request;
    request.method = std::move(method);
    request.target = std::move(target);
    auto answer = co_await client_.call(at, std::move(request), std::chrono::seconds(5));
    EXPECT_TRUE(answer.ok()) << answer.error().to_string();
    co_return answer.ok() ? std::move(answer).value() : net::HttpResponse();
  }

  boost::asio::io_context context_{1};
  net::HttpClient client_{context_.get_executor()};
  std::string folder_;
  Options options_;
};

TEST_F(GpuLossTest, StopsTheEngineForGoodAndThePodStaysAndSaysWhy) {
  PodDaemon daemon(context_, options_, system_clock());
  ASSERT_TRUE(daemon.start().ok());
  const auto story = [&]() -> net::Task<void> {
    const TimePoint end = system_clock().now() + std::chrono::seconds(10);
    while (daemon.state().phase != EnginePhase::kStopped && system_clock().now() < end) {
      co_await net::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(daemon.state().phase, EnginePhase::kStopped);
    EXPECT_TRUE(daemon.state().message.starts_with("GPU-1 needs its node restarted (Xid 79"))
        << daemon.state().message;
    const auto ready = co_await call(options_.listen, "GET", "/ready");
    EXPECT_EQ(ready.status, 503);
    const auto again = co_await call(options_.admin, "POST", "/admin/v1/restart-engine");
    EXPECT_EQ(again.status, 409) << "another engine would find the same GPU";
    daemon.shut_down();
    daemon.shut_down();
  };
  net::TaskGroup group(context_.get_executor(), "test");
  group.spawn(story());
  context_.run_for(std::chrono::seconds(20));
  context_.restart();
  context_.poll();
  EXPECT_EQ(group.running(), 0U);
}

TEST(PodDevices, WithoutADriverThereIsNothingToWatch) {
  boost::asio::io_context io;
  PodDevices devices(io.get_executor(), system_clock(), "libno-such-library.so.1");
  devices.watch([] { FAIL(); }, [](const std::string&) { FAIL(); });
  EXPECT_TRUE(devices.state()["gpus"].empty());
  EXPECT_EQ(devices.state()["no_driver"], "no NVIDIA driver library (libno-such-library.so.1)");
  EXPECT_GE(devices.state()["cpus"].get<int>(), 1);
}

}  // namespace
}  // namespace kantha::noded
