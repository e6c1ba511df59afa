#include "operator/local/local_world.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "operator/local/control_api.h"

/// The local world with real processes (tests/fake/fake_noded) and real sockets.
namespace kantha::local {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using serving::ConditionStatus;

constexpr Duration kPatience = 30s;

bool process_runs(std::int64_t pid) { return kill(static_cast<pid_t>(pid), 0) == 0; }

class LocalWorldTest : public testing::Test {
 protected:
  void SetUp() override {
    ::signal(SIGPIPE, SIG_IGN);
    fs::remove_all(root_);
    fs::create_directories(root_);
    const char* bin = std::getenv("KANTHA_BIN_DIR");
    options_.places.bin_dir = std::string(bin == nullptr ? "." : bin) + "/fake";
    options_.places.run_root = root_ + "/run";
    options_.places.model_cache = root_;
    options_.file = root_ + "/m.yaml";
    options_.listen.port = 0;
    std::ofstream(root_ + "/m.gguf") << "weights";
    write_spec("  replicas: 1\n");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write_spec(const std::string& lines) const {
    std::ofstream(options_.file + ".new")
        << "apiVersion: serving.kantha.dev/v1alpha1\nkind: ModelServing\nmetadata: {name: m}\n"
           "spec:\n  model: {source: {hostPath: m.gguf}}\n  engine: {image: /bin/true}\n"
        << lines;
    fs::rename(options_.file + ".new", options_.file);
  }

  /// What the fake nodeds started from now on shall do.
  void order(const std::string& word) const {
    fs::create_directories(root_ + "/run/m");
    std::ofstream(root_ + "/run/m/fake") << word;
  }

  /// What every fake noded says of its engine's KV from now on; a word: nothing.
  void press(const std::string& pressure) const {
    fs::create_directories(root_ + "/run/m");
    std::ofstream(root_ + "/run/m/pressure.new") << pressure;
    fs::rename(root_ + "/run/m/pressure.new", root_ + "/run/m/pressure");
  }

  Status open() {
    world_ = std::make_unique<LocalWorld>(
        context_.get_executor(), system_clock(), options_,
        WorldEvents{[this](const WorldView&) { ++changes_; },
                    [this](const std::string& text) { notices_ += text + "\n"; }});
    return world_->open();
  }

  void start() {
    const Status opened = open();
    ASSERT_TRUE(opened.ok()) << opened.error().to_string();
    tasks_.spawn(world_->run());
  }

  /// Lets the world run until the condition holds; fails after the patience.
  template <class Condition>
  ::testing::AssertionResult reached(Condition condition) {
    const TimePoint until = system_clock().now() + kPatience;
    while (!condition()) {
      if (system_clock().now() > until) {
        return ::testing::AssertionFailure() << "not reached; notices:\n" << notices_;
      }
      context_.restart();
      context_.run_for(10ms);
    }
    return ::testing::AssertionSuccess();
  }

  bool all_updated(std::int64_t count) const {
    const WorldView& view = world_->view();
    return view.counts.updated == count && view.counts.wanted == count &&
           static_cast<std::int64_t>(view.pods.size()) == count;
  }

  void end() {
    world_->stop();
    ASSERT_TRUE(reached([&] { return tasks_.running() == 0; }));
    EXPECT_FALSE(fs::exists(root_ + "/run/m")) << "the run folder is gone";
  }

  /// One request on the public port or, with a path of a socket, there.
  Result<net::HttpResponse> call(const std::string& endpoint, net::HttpRequest request) {
    net::HttpClient client(context_.get_executor());
    std::optional<Result<net::HttpResponse>> answer;
    tasks_.spawn(
        call_into(client, net::parse_endpoint(endpoint).value(), std::move(request), answer));
    EXPECT_TRUE(reached([&] { return answer.has_value(); }));
    return answer ? *answer : Result<net::HttpResponse>(unavailable("no answer"));
  }

  static net::Task<void> call_into(net::HttpClient& client, net::Endpoint endpoint,
                                   net::HttpRequest request,
                                   std::optional<Result<net::HttpResponse>>& answer) {
    answer.emplace(co_await client.call(std::move(endpoint), std::move(request), 10s));
  }

  /// Which pod answers on the public port.
  std::string who_answers() {
    const auto answer = call(world_->view().endpoint, {.target = "/v1/models"});
    if (!answer.ok()) return answer.error().to_string();
    return Json::parse(answer->body)["pod"];
  }

  Result<net::HttpResponse> scale(int replicas) {
    net::HttpRequest request;
    request.method = "PUT";
    request.target = std::string(kModelServingsPath) + "/m/scale";
    request.body = R"({"spec":{"replicas":)" + std::to_string(replicas) + "}}";
    return call("unix:" + root_ + "/run/m/control.sock", request);
  }

  const std::string root_ =
      (fs::temp_directory_path() / ("kw-" + std::to_string(getpid()))).string();
  boost::asio::io_context context_{1};
  net::TaskGroup tasks_{context_.get_executor(), "test"};
  WorldOptions options_;
  std::unique_ptr<LocalWorld> world_;
  std::string notices_;
  int changes_ = 0;
};

TEST_F(LocalWorldTest, StartsServesScalesAndEndsWithoutATrace) {
  start();
  ASSERT_TRUE(reached([&] { return all_updated(1); }));
  EXPECT_EQ(who_answers(), "m-0");
  EXPECT_EQ(world_->view().status_of("Available"), ConditionStatus::kTrue);
  EXPECT_EQ(world_->view().pods[0].kv_used, 0.25);

  ASSERT_EQ(scale(3)->status, 200);
  ASSERT_TRUE(reached([&] { return all_updated(3); }));
  const std::int64_t leaving = world_->view().pods[2].pid;
  EXPECT_EQ(scale(1)->status, 200);
  ASSERT_TRUE(reached([&] { return all_updated(1); }));
  EXPECT_EQ(world_->view().pods[0].name, "m-0") << "the highest go first";
  EXPECT_FALSE(process_runs(leaving));
  EXPECT_FALSE(fs::exists(root_ + "/run/m/pod-2"));
  EXPECT_EQ(scale(65)->status, 400);
  const std::int64_t last = world_->view().pods[0].pid;
  end();
  EXPECT_FALSE(process_runs(last));
}

TEST_F(LocalWorldTest, WhileScaledToZeroRequestsAreRefusedAndDoNotWait) {
  write_spec("  replicas: 0\n");
  start();
  ASSERT_TRUE(reached([&] { return changes_ > 0; }));
  const auto refused = call(world_->view().endpoint, {.target = "/v1/models"});
  ASSERT_TRUE(refused.ok()) << refused.error().to_string();
  EXPECT_EQ(refused->status, 503);
  // A word or null, never a number, as at every other door.
  EXPECT_NE(refused->body.find("\"code\":null"), std::string::npos) << refused->body;
  EXPECT_NE(refused->body.find("kantha scale m --replicas 1"), std::string::npos) << refused->body;

  ASSERT_EQ(scale(1)->status, 200);
  EXPECT_EQ(who_answers(), "m-0") << "from then on a connection waits for the pod";
  ASSERT_TRUE(reached([&] { return all_updated(1); }));
  EXPECT_EQ(who_answers(), "m-0");
  ASSERT_EQ(scale(0)->status, 200);
  ASSERT_TRUE(reached([&] { return all_updated(0); }));
  EXPECT_EQ(call(world_->view().endpoint, {.target = "/health"})->status, 503);
  end();
}

TEST_F(LocalWorldTest, AFailureToWriteAPodsFilesIsToldOnceAndTriedAgain) {
  start();
  ASSERT_TRUE(reached([&] { return all_updated(1); }));
  const std::string before = world_->view().target_revision;
  // A folder where the draft of engine.json goes cannot be opened for writing, by root neither.
  const std::string draft = root_ + "/run/m/pod-0/engine.json.new";
  fs::create_directories(draft);
  std::ofstream(options_.file + ".new")
      << "apiVersion: serving.kantha.dev/v1alpha1\nkind: ModelServing\nmetadata: {name: m}\n"
         "spec:\n  model: {source: {hostPath: m.gguf}}\n"
         "  engine: {image: /bin/true, config: {maxNumSeqs: 8}}\n  replicas: 1\n";
  fs::rename(options_.file + ".new", options_.file);
  ASSERT_TRUE(reached([&] { return notices_.find(draft) != std::string::npos; }));
  const TimePoint until = system_clock().now() + 500ms;
  ASSERT_TRUE(reached([&] { return system_clock().now() > until; }));
  EXPECT_EQ(notices_.find(draft), notices_.rfind(draft)) << notices_;
  fs::remove(draft);
  ASSERT_TRUE(reached([&] { return world_->view().target_revision != before && all_updated(1); }));
  end();
}

TEST_F(LocalWorldTest, EditsAreTakenAndMistakesAreNot) {
  start();
  ASSERT_TRUE(reached([&] { return all_updated(1); }));
  const std::string before = world_->view().target_revision;

  write_spec("  replicas: two\n");
  ASSERT_TRUE(reached([&] { return notices_.find("spec.replicas") != std::string::npos; }));
  EXPECT_NE(notices_.find("expected an integer, got \"two\""), std::string::npos) << notices_;
  EXPECT_TRUE(all_updated(1));
  EXPECT_EQ(who_answers(), "m-0") << "the old spec goes on serving";

  write_spec("  replicas: 2\n");
  ASSERT_TRUE(reached([&] { return all_updated(2); }));
  EXPECT_EQ(world_->view().target_revision, before) << "a count is no new revision";

  ASSERT_EQ(scale(3)->status, 200);
  ASSERT_TRUE(reached([&] { return all_updated(3); }));
  write_spec("  replicas: 2\n  rollout: {maxUnavailable: 2}\n");
  ASSERT_TRUE(reached([&] { return notices_.find("file is taken") != std::string::npos; }));
  EXPECT_EQ(world_->view().counts.wanted, 3) << "scale holds while the file's number stays";
  write_spec("  replicas: 1\n");
  ASSERT_TRUE(reached([&] { return all_updated(1); })) << "the file's number changed";
  end();
}

TEST_F(LocalWorldTest, ANewEngineConfigMovesPodAfterPod) {
  write_spec("  replicas: 3\n");
  start();
  ASSERT_TRUE(reached([&] { return all_updated(3); }));
  const std::string before = world_->view().target_revision;
  const std::int64_t pid = world_->view().pods[0].pid;
  std::ofstream(options_.file + ".new")
      << "apiVersion: serving.kantha.dev/v1alpha1\nkind: ModelServing\nmetadata: {name: m}\n"
         "spec:\n  model: {source: {hostPath: m.gguf}}\n"
         "  engine: {image: /bin/true, config: {maxNumSeqs: 8}}\n  replicas: 3\n";
  fs::rename(options_.file + ".new", options_.file);
  std::int64_t fewest = 3;
  ASSERT_TRUE(reached([&] {
    fewest = std::min(fewest, world_->view().counts.available);
    return world_->view().target_revision != before && all_updated(3);
  }));
  EXPECT_EQ(fewest, 2) << "one at a time";
  for (const PodView& pod : world_->view().pods) EXPECT_EQ(pod.restarts, 1) << pod.name;
  EXPECT_EQ(world_->view().pods[0].pid, pid) << "the pods themselves stayed";
  end();
}

TEST_F(LocalWorldTest, ARevisionWhosePodsCrashGoesBackAndIsRememberedOverARestart) {
  write_spec("  replicas: 2\n");
  start();
  ASSERT_TRUE(reached([&] { return all_updated(2); }));
  const std::string good = world_->view().target_revision;
  ASSERT_TRUE(reached(
      [&] { return world_->view().message_of("Progressing") == "2 of 2 pods run " + good; }));
  order("crash_loop");
  write_spec("  replicas: 2\n  drain: {timeoutSeconds: 7}\n");
  ASSERT_TRUE(reached([&] { return notices_.find("RolloutFailed") != std::string::npos; }));
  EXPECT_NE(notices_.find("goes back to " + good + ": m-"), std::string::npos) << notices_;
  order("well");
  const auto is_back = [&] {
    const WorldView& view = world_->view();
    return view.counts.available == 2 && view.counts.updated == 0 && view.pods.size() == 2;
  };
  ASSERT_TRUE(
      reached([&] { return notices_.find("RolledBack") != std::string::npos && is_back(); }));
  EXPECT_EQ(world_->view().status_of("RolloutGated"), ConditionStatus::kTrue);
  EXPECT_NE(world_->view().message_of("Progressing").find("runs " + good), std::string::npos);
  end();

  notices_.clear();
  start();
  ASSERT_TRUE(reached(is_back)) << "what failed is not tried again";
  EXPECT_EQ(notices_.find("RolloutStarted"), std::string::npos) << notices_;
  write_spec("  replicas: 2\n  drain: {timeoutSeconds: 8}\n");
  ASSERT_TRUE(reached([&] { return all_updated(2); })) << "another spec is another try";
  end();
}

TEST_F(LocalWorldTest, AKilledNodedIsStartedAgainAndNoConnectionIsRefused) {
  start();
  ASSERT_TRUE(reached([&] { return all_updated(1); }));
  const std::int64_t pid = world_->view().pods[0].pid;
  kill(static_cast<pid_t>(pid), SIGKILL);
  EXPECT_EQ(who_answers(), "m-0") << "the connection waits for the next noded";
  ASSERT_TRUE(reached([&] { return all_updated(1) && world_->view().pods[0].restarts == 1; }));
  EXPECT_NE(world_->view().pods[0].pid, pid);
  end();
}

TEST_F(LocalWorldTest, ANodedThatHangsIsReplacedByAnother) {
  options_.noded_hung_after = 1s;
  start();
  ASSERT_TRUE(reached([&] { return all_updated(1); }));
  const std::int64_t pid = world_->view().pods[0].pid;
  kill(static_cast<pid_t>(pid), SIGSTOP);
  ASSERT_TRUE(reached([&] { return all_updated(1) && world_->view().pods[0].restarts == 1; }));
  EXPECT_NE(world_->view().pods[0].pid, pid);
  EXPECT_EQ(who_answers(), "m-0");
  end();
}

TEST_F(LocalWorldTest, ANodedThatDiesAtOnceIsToldAndNotHammered) {
  const Status opened = open();
  ASSERT_TRUE(opened.ok()) << opened.error().to_string();
  order("die");
  tasks_.spawn(world_->run());
  ASSERT_TRUE(
      reached([&] { return world_->view().status_of("Degraded") == ConditionStatus::kTrue; }));
  EXPECT_NE(world_->view().message_of("Degraded").find("exit 3"), std::string::npos);
  ASSERT_TRUE(reached([&] { return world_->view().pods.at(0).restarts >= 2; }));
  fs::remove(root_ + "/run/m/fake");
  ASSERT_TRUE(reached([&] { return all_updated(1); })) << "it gets well by itself";
  end();
}

TEST_F(LocalWorldTest, RunningStreamsEndBeforeTheirPod) {
  start();
  ASSERT_TRUE(reached([&] { return all_updated(1); }));
  net::HttpRequest request;
  request.method = "POST";
  request.target = "/v1/chat/completions";
  request.body = R"({"messages":[{"role":"user","content":"slowly"}]})";
  net::HttpClient client(context_.get_executor());
  std::optional<Result<net::HttpResponse>> answer;
  tasks_.spawn(
      call_into(client, net::parse_endpoint(world_->view().endpoint).value(), request, answer));
  ASSERT_TRUE(reached([&] { return world_->view().pods[0].streams == 1; }));
  world_->stop();
  ASSERT_TRUE(reached([&] { return tasks_.running() == 0; }));
  ASSERT_TRUE(answer.has_value());
  ASSERT_TRUE(answer->ok()) << answer->error().to_string();
  EXPECT_NE((*answer)->body.find("[DONE]"), std::string::npos) << "the stream was whole";
}

constexpr const char* kScalingLines =
    "  autoscaling:\n    maxReplicas: 3\n    behavior: {scaleDown: {stabilizationWindowSeconds: "
    "0}}\n";

TEST_F(LocalWorldTest, PressureBringsPodsAndSilenceTakesThemWithoutCuttingAStream) {
  write_spec(kScalingLines);
  options_.scale_every = 50ms;
  start();
  press("2.1");
  ASSERT_TRUE(reached([&] { return all_updated(3); }));
  EXPECT_EQ(world_->view().status_of("ScalingActive"), ConditionStatus::kTrue);
  ASSERT_EQ(world_->view().decisions.size(), 1u);
  EXPECT_EQ(world_->view().decisions[0].reason, "PressureAboveTarget");
  EXPECT_EQ(world_->view().decisions[0].to, "3");

  // A stream on whichever pod: it ends by itself, wherever it is.
  net::HttpRequest request{.method = "POST", .target = "/v1/chat/completions"};
  request.body = R"({"messages":[{"role":"user","content":"slowly"}]})";
  net::HttpClient client(context_.get_executor());
  std::optional<Result<net::HttpResponse>> answer;
  const net::Endpoint door = net::parse_endpoint(world_->view().endpoint).value();
  tasks_.spawn(call_into(client, door, request, answer));
  press("0");
  ASSERT_TRUE(reached([&] { return all_updated(1) && answer.has_value(); }));
  ASSERT_TRUE(answer->ok()) << answer->error().to_string();
  EXPECT_NE((*answer)->body.find("[DONE]"), std::string::npos) << "the stream was whole";
  EXPECT_EQ(world_->view().decisions.back().reason, "PressureBelowTarget");
  end();
}

TEST_F(LocalWorldTest, AnOutageOfTheNumbersHoldsTheCount) {
  write_spec(kScalingLines);
  options_.scale_every = 50ms;
  start();
  press("2.1");
  ASSERT_TRUE(reached([&] { return all_updated(3); }));
  press("outage");
  ASSERT_TRUE(reached(
      [&] { return world_->view().status_of("ScalingActive") == ConditionStatus::kFalse; }));
  const TimePoint until = system_clock().now() + 500ms;
  ASSERT_TRUE(reached([&] { return system_clock().now() > until; }));
  EXPECT_TRUE(all_updated(3));
  EXPECT_EQ(world_->view().decisions.size(), 1u);
  end();
}

TEST_F(LocalWorldTest, AnEditThatLeavesTheCountToAutoscalingTakesNoPodAway) {
  write_spec(kScalingLines);
  options_.scale_every = 50ms;
  start();
  press("2.1");
  ASSERT_TRUE(reached([&] { return all_updated(3); }));
  press("0.7");
  write_spec("  autoscaling: {minReplicas: 2, maxReplicas: 3}\n");
  ASSERT_TRUE(reached([&] { return notices_.find("edited file is taken") != std::string::npos; }));
  EXPECT_TRUE(all_updated(3)) << "not 2, where a new fleet would begin";
  write_spec("  autoscaling: {minReplicas: 1, maxReplicas: 2}\n");
  ASSERT_TRUE(reached([&] { return all_updated(2); })) << "but never more than allowed";
  end();
}

TEST_F(LocalWorldTest, SilenceEndsTheLastPodAndARequestWaitsForANewOne) {
  write_spec("  autoscaling: {minReplicas: 0, maxReplicas: 2, idleSeconds: 1}\n");
  options_.scale_every = 50ms;
  start();
  press("0");
  ASSERT_TRUE(reached([&] { return all_updated(1); }));
  const std::int64_t first = world_->view().pods[0].pid;

  // A stream longer than the silence that is asked for is never silence.
  net::HttpRequest request{.method = "POST", .target = "/v1/chat/completions"};
  request.body = R"({"messages":[{"role":"user","content":"slowly"}]})";
  net::HttpClient client(context_.get_executor());
  std::optional<Result<net::HttpResponse>> answer;
  const net::Endpoint door = net::parse_endpoint(world_->view().endpoint).value();
  tasks_.spawn(call_into(client, door, request, answer));
  ASSERT_TRUE(reached([&] { return answer.has_value(); }));
  EXPECT_EQ(world_->view().counts.wanted, 1);
  ASSERT_TRUE(reached([&] { return all_updated(0); }));
  EXPECT_FALSE(process_runs(first));
  EXPECT_EQ(world_->view().decisions.back().reason, "Idle");
  EXPECT_EQ(world_->view().conditions[0].condition.reason, "ScaledToZero");
  EXPECT_EQ(world_->view().status_of("ScalingActive"), ConditionStatus::kTrue);

  order("slow");
  const TimePoint asked = system_clock().now();
  answer.reset();
  tasks_.spawn(call_into(client, door, request, answer));
  ASSERT_TRUE(reached([&] { return world_->view().counts.wanted == 1; }));
  EXPECT_LT(system_clock().now() - asked, 2s);
  ASSERT_TRUE(reached([&] { return answer.has_value(); }));
  ASSERT_TRUE(answer->ok()) << answer->error().to_string();
  EXPECT_NE((*answer)->body.find("[DONE]"), std::string::npos) << "the stream was whole";
  EXPECT_EQ(world_->view().decisions.back().reason, "RequestsWait");
  end();
}

TEST_F(LocalWorldTest, TheSecondStopDoesNotWait) {
  start();
  ASSERT_TRUE(reached([&] { return all_updated(1); }));
  const std::int64_t pid = world_->view().pods[0].pid;
  kill(static_cast<pid_t>(pid), SIGSTOP);
  world_->stop();
  world_->stop();
  ASSERT_TRUE(reached([&] { return tasks_.running() == 0; }));
  EXPECT_FALSE(process_runs(pid));
}

TEST_F(LocalWorldTest, ZeroReplicasAreLegalAndComeBack) {
  write_spec("  replicas: 0\n");
  start();
  ASSERT_TRUE(reached([&] { return changes_ > 0; }));
  EXPECT_EQ(world_->view().conditions[0].condition.reason, "ScaledToZero");
  EXPECT_EQ(scale(1)->status, 200);
  ASSERT_TRUE(reached([&] { return all_updated(1); }));
  EXPECT_EQ(who_answers(), "m-0");
  end();
}

TEST_F(LocalWorldTest, WhatCannotStartSaysWhy) {
  const auto message_and_code = [&](Code code) {
    const Status opened = open();
    EXPECT_FALSE(opened.ok());
    if (opened.ok()) return std::string();
    EXPECT_EQ(opened.error().code, code) << opened.error().to_string();
    return opened.error().message;
  };
  fs::remove(root_ + "/m.gguf");
  EXPECT_NE(message_and_code(Code::kNotFound).find("scripts/fetch-model"), std::string::npos);
  std::ofstream(root_ + "/m.gguf") << "weights";

  write_spec("  replicas: -1\n");
  EXPECT_NE(message_and_code(Code::kInvalidArgument).find("m.yaml:7"), std::string::npos);
  write_spec("  gateway: {authSecret: keys}\n");
  EXPECT_NE(message_and_code(Code::kNotFound).find(root_ + "/keys/keys.json"), std::string::npos);
  write_spec("");

  const std::string bin = options_.places.bin_dir;
  options_.places.bin_dir = "/absent";
  EXPECT_NE(message_and_code(Code::kNotFound).find("/absent/kantha-noded"), std::string::npos);
  options_.places.bin_dir = bin;

  const auto taken = net::open_listener({"127.0.0.1", 0});
  ASSERT_TRUE(taken.ok());
  options_.listen.port = taken->second.port;
  EXPECT_NE(message_and_code(Code::kAlreadyExists).find(std::to_string(taken->second.port)),
            std::string::npos);
  close(taken->first);
  options_.listen.port = 0;

  world_.reset();
  const auto dir = WorldDir::claim(options_.places.run_root, "m");
  ASSERT_TRUE(dir.ok()) << "a world that could not open gives its folder back";
  EXPECT_NE(message_and_code(Code::kAlreadyExists).find("already runs"), std::string::npos);
}

}  // namespace
}  // namespace kantha::local
