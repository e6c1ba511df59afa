#include "noded/options.h"

#include <gtest/gtest.h>

#include <vector>

namespace kantha::noded {
namespace {

Result<Options> parse(std::vector<const char*> arguments, std::string* help = nullptr) {
  arguments.insert(arguments.begin(), "kantha-noded");
  std::string ignored;
  return parse_options(static_cast<int>(arguments.size()), arguments.data(),
                       help == nullptr ? ignored : *help);
}

const std::vector<const char*> kEnough = {"--engine-binary", "/e",     "--engine-config", "/c.json",
                                          "--engine-socket", "/s.sock"};

std::vector<const char*> with(std::vector<const char*> more) {
  more.insert(more.begin(), kEnough.begin(), kEnough.end());
  return more;
}

TEST(Options, ListensOnLoopbackUnlessTold) {
  const auto options = parse(kEnough);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->listen.host, "127.0.0.1");
  EXPECT_EQ(options->admin.host, "127.0.0.1");
  EXPECT_EQ(options->listen_fd, -1);
}

TEST(Options, TakesWhatTheLocalWorldPasses) {
  const auto options =
      parse(with({"--pod", "a-0", "--model", "m", "--listen-fd", "7", "--admin", "unix:/a.sock",
                  "--engine-log", "/l", "--drain-timeout-seconds", "12", "--breaker-ends", "9",
                  "--resume-timeout-seconds", "40", "--gpu-library", "/nvml.so",
                  "--hand-over-prompts", "0"}));
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->pod, "a-0");
  EXPECT_EQ(options->listen_fd, 7);
  EXPECT_EQ(options->admin.unix_path, "/a.sock");
  EXPECT_EQ(options->drain_timeout, std::chrono::seconds(12));
  EXPECT_EQ(options->breaker_ends, 9);
  EXPECT_EQ(options->gpu_library, "/nvml.so");
  EXPECT_EQ(options->resume_timeout, std::chrono::seconds(40));
  EXPECT_EQ(options->hand_over_prompts, 0U);
}

TEST(Options, TakesWhatAPodInAClusterPasses) {
  const auto options =
      parse({"--pod=a-0", "--model=m", "--listen=0.0.0.0:8000", "--admin-listen=0.0.0.0:8001",
             "--admin-token-file=/etc/token", "--engine-external",
             "--engine-config-source=/etc/engine.json", "--engine-config=/run/engine.json",
             "--engine-socket=/run/e.sock", "--drain-timeout-ms=1500"});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_TRUE(options->engine_external);
  EXPECT_EQ(options->listen.host, "0.0.0.0");
  EXPECT_EQ(options->admin.port, 8001);
  EXPECT_EQ(options->admin_token_file, "/etc/token");
  EXPECT_EQ(options->engine_config_source, "/etc/engine.json");
  EXPECT_EQ(options->drain_timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(options->endpoint_grace, std::chrono::seconds(3));
}

TEST(Options, TheGateIsOpenUnlessTold) {
  const auto open = parse(kEnough);
  ASSERT_TRUE(open.ok());
  EXPECT_EQ(open->api_keys_file, "");
  EXPECT_EQ(open->requests_per_minute, 0);
  EXPECT_EQ(open->access_log, "");
  const auto told = parse(with({"--api-keys-file=/k.json", "--requests-per-minute=60",
                                "--tokens-per-minute=1000", "--access-log=stdout"}));
  ASSERT_TRUE(told.ok()) << told.error().message;
  EXPECT_EQ(told->api_keys_file, "/k.json");
  EXPECT_EQ(told->requests_per_minute, 60);
  EXPECT_EQ(told->tokens_per_minute, 1000);
  EXPECT_EQ(told->access_log, "stdout");
  const auto wrong = parse(with({"--requests-per-minute=-1"}));
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("--requests-per-minute"), std::string::npos);
}

TEST(Options, PeersHaveADoorOfTheirOwnOnlyOnAUnixSocket) {
  EXPECT_FALSE(parse(kEnough)->peer_listen);
  const auto options = parse(with({"--peer-listen", "unix:/run/p.sock"}));
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->peer_listen->unix_path, "/run/p.sock");
  for (const char* wrong : {"127.0.0.1:9000", "unix:", "nowhere"}) {
    const auto refused = parse(with({"--peer-listen", wrong}));
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_NE(refused.error().message.find("--peer-listen"), std::string::npos);
  }
}

TEST(Options, TheGraceIsZeroForAChildAndAsTold) {
  EXPECT_EQ(parse(kEnough)->endpoint_grace, Duration::zero());
  EXPECT_EQ(parse(with({"--endpoint-grace-ms", "70"}))->endpoint_grace,
            std::chrono::milliseconds(70));
}

TEST(Options, AnAdminApiThatOthersReachNeedsAToken) {
  const auto open = parse(with({"--admin-listen", "0.0.0.0:8001"}));
  ASSERT_FALSE(open.ok());
  EXPECT_NE(open.error().message.find("0.0.0.0:8001"), std::string::npos);
  EXPECT_NE(open.error().message.find("--admin-token-file"), std::string::npos);
  EXPECT_TRUE(parse(with({"--admin", "0.0.0.0:8001", "--admin-token-file", "/t"})).ok());
}

TEST(Options, EachBadFlagIsNamed) {
  const struct {
    std::vector<const char*> arguments;
    const char* named;
  } cases[] = {
      {{}, "--engine-binary"},
      {{"--engine-binary", "/e"}, "--engine-config"},
      {{"--engine-binary", "/e", "--engine-config", "/c"}, "--engine-socket"},
      {with({"--listen", "nowhere"}), "--listen"},
      {with({"--admin", "127.0.0.1:x"}), "--admin"},
      {with({"--engine-external"}), "--engine-binary"},
      {with({"--engine-config-source", "/s"}), "--engine-config-source"},
      {with({"--drain-timeout-ms", "soon"}), "--drain-timeout-ms"},
      {with({"--endpoint-grace-ms", "-1"}), "--endpoint-grace-ms"},
      {with({"--listen-fd", "2"}), "--listen-fd"},
      {with({"--drain-timeout-seconds", "-1"}), "--drain-timeout-seconds"},
      {with({"--hold-timeout-seconds", "soon"}), "--hold-timeout-seconds"},
      {with({"--resume-timeout-seconds", "-1"}), "--resume-timeout-seconds"},
      {with({"--breaker-ends", "0"}), "--breaker-ends"},
      {with({"--colour", "red"}), "--colour"},
  };
  for (const auto& [arguments, named] : cases) {
    const auto options = parse(arguments);
    ASSERT_FALSE(options.ok()) << named;
    EXPECT_NE(options.error().message.find(named), std::string::npos) << options.error().message;
  }
}

TEST(Options, AnEngineSocketPathThatCannotBeBoundIsRefused) {
  const std::string path(108, 'a');
  const auto options =
      parse({"--engine-binary", "/e", "--engine-config", "/c", "--engine-socket", path.c_str()});
  ASSERT_FALSE(options.ok());
  EXPECT_NE(options.error().message.find("107"), std::string::npos);
}

TEST(Options, HelpAndVersionNeedNothingElse) {
  std::string help;
  EXPECT_TRUE(parse({"--help"}, &help).ok());
  EXPECT_NE(help.find("--engine-binary"), std::string::npos);
  const auto version = parse({"--version"});
  ASSERT_TRUE(version.ok());
  EXPECT_TRUE(version->show_version);
}

}  // namespace
}  // namespace kantha::noded
