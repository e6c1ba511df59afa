#include "operator/runtime/lease_record.h"

#include <gtest/gtest.h>

#include <vector>

namespace kantha::runtime {
namespace {

TEST(LeaseRecord, ReadsWhatItWrote) {
  const LeaseRecord record = {"us", 15, "2026-11-29T12:00:00.000001Z",
                              "2026-11-29T12:00:02.000000Z", 3};
  const Json lease = lease_with_record(nullptr, "kantha", "operator", record);
  EXPECT_EQ(lease_record_from_json(lease), record);
  EXPECT_EQ(lease["apiVersion"], "coordination.k8s.io/v1");
  EXPECT_EQ(lease["metadata"], (Json{{"name", "operator"}, {"namespace", "kantha"}}));
}

TEST(LeaseRecord, KeepsWhatOthersPutOnTheLease) {
  const Json read = {{"metadata",
                      {{"name", "operator"},
                       {"namespace", "kantha"},
                       {"resourceVersion", "7"},
                       {"labels", {{"team", "a"}}},
                       {"managedFields", Json::array({1, 2})}}},
                     {"spec", {{"strategy", "OldestEmulationVersion"}}}};
  const Json lease = lease_with_record(read, "kantha", "operator", {.holder = "us"});
  EXPECT_EQ(lease["metadata"]["resourceVersion"], "7");
  EXPECT_EQ(lease["metadata"]["labels"]["team"], "a");
  EXPECT_FALSE(lease["metadata"].contains("managedFields"));
}

// F38
TEST(LeaseRecord, TakesAGarbledLeaseForOneOfNoKnownHolder) {
  const std::vector<Json> garbled = {
      nullptr,
      5,
      Json::array(),
      {{"spec", nullptr}},
      {{"spec", 5}},
      {{"spec", Json::object()}},
      {{"spec", {{"holderIdentity", 5}, {"leaseDurationSeconds", 1}}}},
      {{"spec", {{"holderIdentity", nullptr}, {"leaseDurationSeconds", 1}}}},
      {{"spec", {{"holderIdentity", ""}, {"leaseDurationSeconds", "1"}}}},
  };
  for (const Json& lease : garbled) {
    SCOPED_TRACE(lease.dump());
    const LeaseRecord record = lease_record_from_json(lease);
    EXPECT_EQ(record.holder, "");
    EXPECT_FALSE(record.is_released());
  }
  EXPECT_TRUE(
      lease_record_from_json({{"spec", {{"holderIdentity", ""}, {"leaseDurationSeconds", 1}}}})
          .is_released());
}

TEST(LeaseRecord, SpellsTimesWithMicroseconds) {
  using namespace std::chrono_literals;
  EXPECT_EQ(micro_time(WallTime{}), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(micro_time(WallTime{} + 951'782'400s + 7us), "2000-02-29T00:00:00.000007Z");
}

}  // namespace
}  // namespace kantha::runtime
