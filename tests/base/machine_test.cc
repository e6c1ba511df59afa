#include "base/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace kantha {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMountsV2 =
    "22 1 0:21 / /proc rw - proc proc rw\n"
    "30 1 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
constexpr const char* kMountsV1 =
    "31 1 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs rw\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
    "34 31 0:31 / /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n"
    "35 31 0:32 / /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
constexpr const char* kGroupsV1 = "4:memory:/pod\n3:cpuset:/pod\n1:cpu,cpuacct:/pod\n0::/\n";

/// A folder with fake proc and sys trees of a host with 16 CPUs and 64 GiB.
class MachineTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "kantha_machine_" + std::to_string(::getpid());
    fs::remove_all(root_);
    write("proc/self/status", "Name:\tx\nCpus_allowed:\tffff\nCpus_allowed_list:\t0-15\n");
    write("proc/meminfo", "MemTotal:       67108864 kB\nMemFree:        1 kB\n");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const fs::path file = fs::path(root_) / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void use_v2(const std::string& group) {
    write("proc/self/mountinfo", kMountsV2);
    write("proc/self/cgroup", "0::" + group + "\n");
  }
  void use_v1() {
    write("proc/self/mountinfo", kMountsV1);
    write("proc/self/cgroup", kGroupsV1);
  }
  MachineLimits limits() const { return read_machine_limits(root_); }

  std::string root_;
};

TEST_F(MachineTest, WithoutGroupsTheHostCounts) {
  EXPECT_EQ(limits().cpus, 16);
  EXPECT_EQ(limits().memory_bytes, std::int64_t{64} << 30);
  EXPECT_EQ(limits().source, "host");
}

TEST_F(MachineTest, AffinityCountsSingleCpusAndRanges) {
  write("proc/self/status", "Cpus_allowed_list:\t0-3,8,10-11\n");
  EXPECT_EQ(limits().cpus, 7);
}

TEST_F(MachineTest, Version2QuotaIsRoundedUp) {
  use_v2("/pod");
  write("sys/fs/cgroup/pod/cpu.max", "250000 100000\n");
  write("sys/fs/cgroup/pod/memory.max", "4294967296\n");
  EXPECT_EQ(limits().cpus, 3);
  EXPECT_EQ(limits().memory_bytes, std::int64_t{4} << 30);
  EXPECT_EQ(limits().source, "cgroup2");
}

TEST_F(MachineTest, Version2WithoutLimitsIsTheHost) {
  use_v2("/pod");
  write("sys/fs/cgroup/pod/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/pod/memory.max", "max\n");
  EXPECT_EQ(limits().cpus, 16);
  EXPECT_EQ(limits().memory_bytes, std::int64_t{64} << 30);
  EXPECT_EQ(limits().source, "host");
}

TEST_F(MachineTest, AQuotaBelowOneCpuIsOneCpu) {
  use_v2("/");
  write("sys/fs/cgroup/cpu.max", "10000 100000\n");
  EXPECT_EQ(limits().cpus, 1);
}

TEST_F(MachineTest, AnAncestorsTighterLimitHolds) {
  use_v2("/slice/pod/box");
  write("sys/fs/cgroup/slice/cpu.max", "200000 100000\n");
  write("sys/fs/cgroup/slice/pod/box/cpu.max", "800000 100000\n");
  write("sys/fs/cgroup/slice/pod/memory.max", "1073741824\n");
  write("sys/fs/cgroup/slice/pod/box/memory.max", "max\n");
  EXPECT_EQ(limits().cpus, 2);
  EXPECT_EQ(limits().memory_bytes, std::int64_t{1} << 30);
}

TEST_F(MachineTest, Version2CpusetIsTheNearestOne) {
  use_v2("/pod");
  write("sys/fs/cgroup/cpuset.cpus.effective", "0-15\n");
  write("sys/fs/cgroup/pod/cpuset.cpus.effective", "2-3,7\n");
  EXPECT_EQ(limits().cpus, 3);
}

TEST_F(MachineTest, Version1ReadsThreeControllers) {
  use_v1();
  write("sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_quota_us", "350000\n");
  write("sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/memory/pod/memory.limit_in_bytes", "2147483648\n");
  write("sys/fs/cgroup/cpuset/pod/cpuset.cpus", "0-7\n");
  EXPECT_EQ(limits().cpus, 4);
  EXPECT_EQ(limits().memory_bytes, std::int64_t{2} << 30);
  EXPECT_EQ(limits().source, "cgroup1");
  write("sys/fs/cgroup/cpuset/pod/cpuset.effective_cpus", "0-1\n");
  EXPECT_EQ(limits().cpus, 2);
}

TEST_F(MachineTest, Version1SpellsUnlimitedAsMinusOneAndAHugeNumber) {
  use_v1();
  write("sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/memory/pod/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(limits().cpus, 16);
  EXPECT_EQ(limits().memory_bytes, std::int64_t{64} << 30);
  EXPECT_EQ(limits().source, "host");
}

TEST_F(MachineTest, AContainerFindsItsGroupAtTheMountPoint) {
  write("proc/self/mountinfo",
        "35 31 0:32 /kubepods/pod1 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
        "32 31 0:29 /kubepods/pod1 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n");
  write("proc/self/cgroup", "4:memory:/kubepods/pod1\n1:cpu:/elsewhere\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limits().memory_bytes, std::int64_t{1} << 30);
  EXPECT_EQ(limits().cpus, 2);
}

TEST_F(MachineTest, NonsenseInFilesFallsBackToTheHost) {
  use_v2("/pod");
  write("sys/fs/cgroup/pod/cpu.max", "lots\n");
  write("sys/fs/cgroup/pod/memory.max", "-5\n");
  write("sys/fs/cgroup/pod/cpuset.cpus.effective", "7-3,x\n");
  EXPECT_EQ(limits().cpus, 16);
  EXPECT_EQ(limits().memory_bytes, std::int64_t{64} << 30);
}

TEST(Machine, TheRealOneHasSomething) {
  const MachineLimits limits = read_machine_limits();
  EXPECT_GE(limits.cpus, 1);
  EXPECT_LE(limits.cpus, ::sysconf(_SC_NPROCESSORS_CONF));
  EXPECT_GT(limits.memory_bytes, std::int64_t{64} << 20);
}

}  // namespace
}  // namespace kantha
