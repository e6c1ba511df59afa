#include "noded/node/node_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "noded/node/cpu_map.h"
#include "noded/node/xid_policy.h"

namespace kantha::noded {
namespace {

namespace fs = std::filesystem;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string fake_library() {
  return std::string(std::getenv("KANTHA_BIN_DIR")) + "/libfake_nvml.so";
}

/// A folder with the parts of sysfs that are read.
class FakeRoot {
 public:
  FakeRoot() {
    std::string pattern = (fs::temp_directory_path() / "kantha_node_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~FakeRoot() { fs::remove_all(path_); }
  void put(const std::string& file, const std::string& text) {
    const fs::path path = path_ / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  void put_gpu(const std::string& pci, const std::string& node) {
    put("sys/bus/pci/devices/" + pci + "/numa_node", node);
  }
  void put_node(int node, const std::string& cpus) {
    put("sys/devices/system/node/node" + std::to_string(node) + "/cpulist", cpus);
  }
  std::string root() const { return path_.string() + "/"; }

 private:
  fs::path path_;
};

TEST(CpuList, ReadsAndWritesRanges) {
  EXPECT_THAT(*parse_cpu_list("0-3,8"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(*parse_cpu_list("8,0-1,1"), ElementsAre(0, 1, 8));
  EXPECT_THAT(*parse_cpu_list(""), IsEmpty());
  for (const char* bad : {"x", "3-1", "-1", "1-", "1,,2", "0-99999999"}) {
    EXPECT_FALSE(parse_cpu_list(bad)) << bad;
  }
  EXPECT_EQ(cpu_list_text({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(cpu_list_text({}), "");
}

TEST(PciAddress, IsSpelledAsInSysfs) {
  EXPECT_EQ(sysfs_pci_address("00000000:CA:00.0"), "0000:ca:00.0");
  EXPECT_EQ(sysfs_pci_address("0001:17:00.0"), "0001:17:00.0");
  for (const char* bad : {"", "17:00.0", "../../../etc", "0000:17:00", "0000/17:00.0"}) {
    EXPECT_EQ(sysfs_pci_address(bad), "") << bad;
  }
}

TEST(EngineCpus, AreThoseNearTheGpusThatMayBeUsed) {
  FakeRoot root;
  root.put_node(0, "0-7");
  root.put_node(1, "8-15");
  EXPECT_THAT(engine_cpus(root.root(), {1}, {0, 8, 9, 20}), ElementsAre(8, 9));
  EXPECT_THAT(engine_cpus(root.root(), {0, 1}, {0, 8, 20}), ElementsAre(0, 8));
  EXPECT_THAT(engine_cpus(root.root(), {-1}, {0, 8}), IsEmpty()) << "not known: no pinning";
  EXPECT_THAT(engine_cpus(root.root(), {0, -1}, {0, 8}), IsEmpty());
  EXPECT_THAT(engine_cpus(root.root(), {1}, {0}), IsEmpty()) << "nothing would be left";
  EXPECT_THAT(engine_cpus(root.root(), {}, {0}), IsEmpty());
}

TEST(GpuDriver, ItsAbsenceIsAFact) {
  const Result<GpuDriver> none = GpuDriver::open("libno-such-library.so.1");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::kNotFound);
  const NodeFacts facts = read_node_facts("/", none, {0});
  EXPECT_THAT(facts.gpus, IsEmpty());
  EXPECT_THAT(facts.driver_absence, HasSubstr("libno-such-library.so.1"));
  EXPECT_GE(facts.limits.cpus, 1);
  // A library, but not that one.
  EXPECT_EQ(GpuDriver::open("libm.so.6").error().code, Code::kFailedPrecondition);
}

TEST(GpuDriver, ALibraryWithoutADriverSaysSo) {
  ::setenv("KANTHA_FAKE_NVML_DOWN", "1", 1);
  const Result<GpuDriver> down = GpuDriver::open(fake_library());
  ::unsetenv("KANTHA_FAKE_NVML_DOWN");
  ASSERT_FALSE(down.ok());
  EXPECT_THAT(down.error().message, HasSubstr("Driver Not Loaded"));
}

TEST(NodeFacts, TellWhereTheGpusAre) {
  FakeRoot root;
  root.put_gpu("0000:17:00.0", "0");
  root.put_gpu("0000:ca:00.0", "1");
  root.put_node(0, "0-3");
  root.put_node(1, "4-7");
  const Result<GpuDriver> driver = GpuDriver::open(fake_library());
  ASSERT_TRUE(driver.ok()) << driver.error().message;
  const NodeFacts facts = read_node_facts(root.root(), driver, {1, 2, 5});
  ASSERT_EQ(facts.gpus.size(), 2u);
  EXPECT_EQ(facts.gpus[1].gpu.uuid, "GPU-1");
  EXPECT_EQ(facts.gpus[1].gpu.name.size(), 95u) << "a text without an end is cut";
  EXPECT_EQ(facts.gpus[1].numa_node, 1);
  EXPECT_THAT(facts.engine_cpus, ElementsAre(1, 2, 5));
  const Json json = to_json(facts);
  EXPECT_EQ(json["driver"], "600.12.34");
  EXPECT_EQ(json["gpus"][0]["cpus"], "0-3");
  EXPECT_EQ(json["gpus"][0]["memory_bytes"], 150ll << 30);
  EXPECT_EQ(json["engine_cpus"], "1-2,5");
}

TEST(GpuDriver, TellsXidsAsTheyCome) {
  ::setenv("KANTHA_FAKE_XIDS", "13,79", 1);
  Result<GpuDriver> driver = GpuDriver::open(fake_library());
  ::unsetenv("KANTHA_FAKE_XIDS");
  ASSERT_TRUE(driver.ok());
  std::vector<int> codes;
  for (auto event = driver->wait_event(0); event.ok() && event->has_value();
       event = driver->wait_event(0)) {
    EXPECT_EQ((*event)->uuid, "GPU-1");
    codes.push_back((*event)->xid);
  }
  EXPECT_THAT(codes, ElementsAre(13, 79));
}

TEST(XidPolicy, FollowsTheCatalogue) {
  const std::vector<std::pair<XidAction, std::vector<int>>> table = {
      {XidAction::kRestartEngine, {8, 11, 13, 31, 32, 43, 45, 68, 69, 94}},
      {XidAction::kDrainGpu, {46, 48, 62, 64, 74, 95, 109, 119, 120, 140}},
      {XidAction::kFenceNode, {79}},
      {XidAction::kNote, {63, 92, 154}},
  };
  for (const auto& [action, codes] : table) {
    for (const int code : codes) {
      EXPECT_EQ(xid_step({}, code, {}).action, action) << code;
      EXPECT_NE(xid_rule(code).meaning, "unknown") << code;
    }
  }
}

TEST(XidPolicy, AnUnknownCodeDrainsTheGpu) {
  EXPECT_EQ(xid_step({}, 9999, {}).action, XidAction::kDrainGpu);
  EXPECT_EQ(xid_rule(9999).meaning, "unknown");
}

TEST(XidPolicy, ThreeRestartsInTenMinutesAreTheGpusFault) {
  const TimePoint begin{};
  XidStep step = xid_step({}, 13, begin);
  step = xid_step(step.history, 31, begin + minutes(5));
  EXPECT_EQ(step.action, XidAction::kRestartEngine);
  const XidStep late = xid_step(step.history, 13, begin + minutes(11));
  EXPECT_EQ(late.action, XidAction::kRestartEngine) << "the first one is forgotten";
  step = xid_step(step.history, 13, begin + minutes(9));
  EXPECT_EQ(step.action, XidAction::kDrainGpu);
  EXPECT_EQ(xid_step(step.history, 63, begin + minutes(30)).history.worst, XidAction::kDrainGpu);
}

}  // namespace
}  // namespace kantha::noded
