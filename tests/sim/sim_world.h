#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/net/virtual_time.h"
#include "tests/sim/fake_nodeds.h"
#include "tests/sim/operator_run.h"
#include "tests/sim/run_checks.h"

/// A whole cluster on virtual time: the fake API server, its kubelets, the nodeds, the checks, the
/// users, and operators that come and go. A run is a pure function of (seed, what the test does).
/// One thread.
namespace kantha::sim {

struct WorldOptions {
  std::uint64_t seed = 1;
  fake::ServerOptions server = {};
  KubeletTimes times = {};
  NodeShape nodes = {};
  CheckLimits limits = {};
  bool leader_elect = false;
  /// How long nobody writes before a story goes on; longer than any back-off that its faults cause.
  Duration quiet = std::chrono::seconds(75);
  bool real_definition = true;  ///< crds/…yaml; else an open schema
};

class SimWorld {
 public:
  using ObjectPtr = fake::ObjectPtr;

  explicit SimWorld(WorldOptions options = {});
  ~SimWorld();
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  // Operators.
  /// Starts one; `prepare` may set faults before its first call.
  OperatorRun& start_operator(const std::function<void(OperatorRun&)>& prepare = {});
  /// Starts another whenever the last one has ended, after `delay`; each is prepared.
  void keep_operator(std::function<void(OperatorRun&)> prepare,
                     Duration delay = std::chrono::seconds(1));
  OperatorRun& current() { return *runs_.back(); }
  OperatorRun& first() { return *runs_.front(); }
  std::size_t operator_count() const { return runs_.size(); }
  void stop_operators();

  // Users.
  /// A valid ModelServing that the user "user" makes in namespace default.
  void create_serving(const std::string& name, const Json& spec_patch = Json::object());
  /// A merge patch by the user; gives the HTTP status.
  int patch_serving(const std::string& name, const Json& patch);
  void scale(const std::string& name, std::int64_t replicas);
  void delete_serving(const std::string& name);
  static Json default_spec();

  // Time.
  void run_for(Duration span) { time_.run_for(span); }
  /// Runs until nobody wrote anything (leases and events left out) for `quiet`; false when `limit`
  /// passed before.
  bool settle(Duration quiet = std::chrono::seconds(90), Duration limit = std::chrono::hours(2));
  /// Runs until it holds; false when `limit` passed before.
  bool run_until(const std::function<bool()>& holds, Duration limit = std::chrono::minutes(10));
  TimePoint now() const { return clock_.now(); }

  // What there is.
  ObjectPtr serving(const std::string& name);
  std::vector<ObjectPtr> pods(const std::string& serving);
  /// status.conditions[type].status, "" when absent.
  std::string condition(const std::string& name, const std::string& type);
  std::string condition_reason(const std::string& name, const std::string& type);
  bool is_available(const std::string& name) { return condition(name, "Available") == "True"; }
  /// All of spec.replicas are ready, and run what they were last told.
  bool is_whole(const std::string& name);
  std::string report();  ///< failures and the last writes

  fake::FakeApiServer& server() { return server_; }
  FakeKubelets& kubelets() { return kubelets_; }
  FakeNodeds& nodeds() { return nodeds_; }
  RunChecks& checks() { return checks_; }
  /// For users who edit more often than people do.
  void allow_writes_per_minute(std::int64_t each) {
    checks_.limits().writes_per_minute_each = each;
  }
  std::uint64_t seed() const { return options_.seed; }

 private:
  net::Task<void> keep_running();
  net::HttpResponse ask(const std::string& method, const std::string& target, const Json& body,
                        const std::string& type);

  WorldOptions options_;
  boost::asio::io_context context_;
  FakeClock clock_;
  net::VirtualTime time_;
  fake::FakeApiServer server_;
  FakeKubelets kubelets_;
  FakeNodeds nodeds_;
  RunChecks checks_;
  net::TaskGroup tasks_;
  net::Notify keeper_wakes_;
  std::vector<std::shared_ptr<OperatorRun>> runs_;
  std::function<void(OperatorRun&)> prepare_;
  Duration restart_delay_{};
  bool is_kept_ = false;
  TimePoint last_write_{};  ///< of anybody, leases and events left out
};

}  // namespace kantha::sim
