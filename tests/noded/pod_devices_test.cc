#include "noded/pod_devices.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <boost/asio/io_context.hpp>

#include "base/net/task.h"

namespace kantha::noded {
namespace {

TEST(PodDevices, RestartTheEngineForAnApplicationsErrorAndTellOfTheOthers) {
  const std::string library = std::string(std::getenv("KANTHA_BIN_DIR")) + "/libfake_nvml.so";
  ::setenv("KANTHA_FAKE_XIDS", "31,63,79", 1);
  boost::asio::io_context io;
  PodDevices devices(io.get_executor(), system_clock(), library);
  ::unsetenv("KANTHA_FAKE_XIDS");
  int restarts = 0;
  devices.watch([&] { ++restarts; });
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
  EXPECT_EQ(devices.state()["gpus"].size(), 2u);
}

TEST(PodDevices, WithoutADriverThereIsNothingToWatch) {
  boost::asio::io_context io;
  PodDevices devices(io.get_executor(), system_clock(), "libno-such-library.so.1");
  devices.watch([] { FAIL(); });
  EXPECT_TRUE(devices.state()["gpus"].empty());
  EXPECT_EQ(devices.state()["no_driver"], "no NVIDIA driver library (libno-such-library.so.1)");
  EXPECT_GE(devices.state()["cpus"].get<int>(), 1);
}

}  // namespace
}  // namespace kantha::noded
