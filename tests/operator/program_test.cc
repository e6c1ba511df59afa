#include <sys/wait.h>

#include "tests/operator/api_server_process.h"

/// The program `kantha-operator` as whoever installs it meets it.
namespace kantha {
namespace {

using namespace std::chrono_literals;

class OperatorProgramTest : public testing::Test {
 protected:
  std::optional<ProcessExit> end_of(Process& process, Duration patience = 30s) {
    std::optional<ProcessExit> exit;
    reached([&] { return (exit = process.poll()).has_value(); }, patience);
    return exit;
  }
  bool log_has(const std::string& text, Duration patience = 30s) {
    return reached([&] { return world_.operator_log().find(text) != std::string::npos; }, patience);
  }
  ApiServerProcess world_;
};

TEST_F(OperatorProgramTest, BadFlagsAreOneLineAndExit2) {
  const struct {
    const char* args;
    int status;
    const char* message;
  } cases[] = {
      {"--nope", 2, "--nope"},
      {"--engine-image e", 2, "--noded-image: required"},
      {"--noded-image n", 2, "--engine-image: required"},
      {"--workers 0", 2, "--workers"},
      {"--transport pigeon", 2, "pigeon"},
      {"--noded-image n --engine-image e --listen nonsense", 2, "--listen"},
      {"--noded-image n --engine-image e --namespace A_B", 2, "--namespace"},
      {"--noded-image n --engine-image e --activator-service s", 2, "NAMESPACE/NAME"},
      {"--noded-image n --engine-image e --activator-service a/s", 2, "--activator-token-file"},
      {"--noded-image n --engine-image e --activator-token-file f", 2, "--activator-service"},
      {"--noded-image n --engine-image e --kubeconfig /nowhere", 1, "/nowhere"},
      {"--version", 0, "."},
      {"--help", 0, "--leader-elect"},
  };
  for (const auto& c : cases) {
    const std::string out = world_.root() + "/out";
    const int status = std::system(
        ("'" + world_.binary("kantha-operator") + "' " + c.args + " >" + out + " 2>&1").c_str());
    EXPECT_EQ(WEXITSTATUS(status), c.status) << c.args;
    EXPECT_NE(file_text(out).find(c.message), std::string::npos) << file_text(out);
    if (c.status != 2) continue;
    const std::string text = file_text(out);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  }
}

TEST_F(OperatorProgramTest, WithoutAnApiServerItSaysSoAndWaits) {
  Process lonely = world_.start_operator();
  EXPECT_TRUE(log_has("watch interrupted")) << world_.operator_log();
  EXPECT_FALSE(lonely.poll()) << "it waits";
  lonely.signal(SIGTERM);
  const auto exit = end_of(lonely);
  ASSERT_TRUE(exit) << world_.operator_log();
  EXPECT_EQ(exit->to_string(), "exit 0");
}

TEST_F(OperatorProgramTest, ItServesAnObjectAndEndsWith0OnSigterm) {
  world_.start();
  Process one = world_.start_operator({"--leader-elect"});
  world_.create_serving("m", 1);
  ASSERT_TRUE(reached([&] { return world_.pod("m-0").value("kind", "") == "Pod"; }))
      << world_.operator_log();
  world_.make_ready("m-0");
  EXPECT_TRUE(reached([&] {
    return world_.serving("m").value("/status/availableReplicas"_json_pointer, 0) == 1;
  })) << world_.operator_log();
  const TimePoint asked = system_clock().now();
  one.signal(SIGTERM);
  const auto exit = end_of(one);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->to_string(), "exit 0") << world_.operator_log();
  EXPECT_LT(system_clock().now() - asked, 3s);
  const Json lease =
      world_.ask("GET", "/apis/coordination.k8s.io/v1/namespaces/default/leases/kantha-operator");
  EXPECT_EQ(lease.value("/spec/holderIdentity"_json_pointer, "?"), "") << "released: " << lease;
}

TEST_F(OperatorProgramTest, WhoLosesItsLeaseEndsWith1) {
  world_.start();
  Process one = world_.start_operator({"--leader-elect"});
  ASSERT_TRUE(log_has("this operator leads")) << world_.operator_log();
  const std::string path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/kantha-operator";
  world_.ask("PATCH", path, {{"spec", {{"holderIdentity", "somebody else"}}}});
  const auto exit = end_of(one);
  ASSERT_TRUE(exit) << world_.operator_log();
  EXPECT_EQ(exit->to_string(), "exit 1") << world_.operator_log();
}

TEST_F(OperatorProgramTest, ThePagesAreServed) {
  world_.start();
  Process one = world_.start_operator();
  ASSERT_TRUE(log_has("the cluster is in view")) << world_.operator_log();
  const std::string log = world_.operator_log();
  const std::string mark = "pages are served listen=";
  const std::size_t at = log.find(mark) + mark.size();
  const net::Endpoint pages = net::parse_endpoint(log.substr(at, log.find('\n', at) - at)).value();
  for (const char* path : {"/live", "/ready", "/metrics", "/debug/state"}) {
    boost::asio::io_context context(1);
    net::HttpClient client(context.get_executor());
    net::HttpRequest request;
    request.target = path;
    const auto answer = cli::run_blocking(context, client.call(pages, std::move(request), 5s));
    ASSERT_TRUE(answer.ok()) << path;
    EXPECT_EQ(answer->status, 200) << path;
  }
  one.signal(SIGTERM);
  EXPECT_TRUE(end_of(one));
}

}  // namespace
}  // namespace kantha
