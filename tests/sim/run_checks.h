#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/fake/api_server/fake_api_server.h"
#include "tests/sim/fake_kubelets.h"

/// What must hold in every run, whatever went wrong: watches every write as it happens and looks at
/// the end. Collects sentences; empty means fine. One executor.
namespace kantha::sim {

struct CheckLimits {
  /// Writes of ours in any minute, leases left out: a constant and so many for each object.
  std::int64_t writes_per_minute = 60;
  std::int64_t writes_per_minute_each = 60;
  /// A pod that fell over so recently may not have been seen yet; it does not count against us.
  Duration unseen = std::chrono::seconds(5);
};

class RunChecks {
 public:
  RunChecks(fake::FakeApiServer& server, const FakeKubelets& kubelets, CheckLimits limits = {});

  /// Sentences so far, each once.
  const std::vector<std::string>& failures() const { return failures_; }
  /// At the end of a run: owners, orphans, and that users' writes are all there.
  void check_end();
  /// Writes of ours since the mark, events and leases left out.
  void mark() { marked_ = our_writes_; }
  std::int64_t writes_since_mark() const { return our_writes_ - marked_; }
  std::int64_t our_writes() const { return our_writes_; }
  /// The last few writes, for a failing run's report.
  std::string recent_writes() const;
  CheckLimits& limits() { return limits_; }

 private:
  void saw(const fake::Table& table, const fake::Change& change, const fake::WriteRecord& record);
  void check_serving_write(const fake::Change& change, const fake::WriteRecord& record);
  void check_pod_write(const fake::Change& change, const fake::WriteRecord& record);
  void check_rate(const fake::WriteRecord& record);
  void track_availability(const Json& pod, bool is_gone);
  void check_budget(const Json& pod, const std::string& deed);
  void check_owners(const fake::Table& table, const Json& object);
  void fail(const std::string& sentence);

  fake::FakeApiServer& server_;
  const FakeKubelets& kubelets_;
  CheckLimits limits_;
  std::vector<std::string> failures_;
  std::set<std::string> told_;                          ///< failures, to tell each once
  std::map<std::string, TimePoint> unavailable_since_;  ///< by pod uid: when it fell over by itself
  std::set<std::string> taken_;  ///< pods (uid) that we took down and that are not back yet
  std::map<std::string, std::deque<std::pair<TimePoint, std::int64_t>>> needed_;
  std::map<std::string, Json> user_specs_;  ///< by path: the spec as users left it
  std::deque<TimePoint> minute_;
  std::int64_t our_writes_ = 0;
  std::int64_t marked_ = 0;
};

/// Everything that a run left behind, without what no two runs share (uids, times, versions,
/// addresses, random tokens): "kind namespace/name" → content.
std::map<std::string, Json> end_state(fake::FakeApiServer& server);
/// The differences of two end states, a line each.
std::vector<std::string> state_differences(const std::map<std::string, Json>& expected,
                                           const std::map<std::string, Json>& got);

}  // namespace kantha::sim
