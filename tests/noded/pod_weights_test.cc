#include "noded/pod_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "base/digest.h"
#include "tests/noded/models/file_server.h"

namespace kantha::noded {
namespace {

using testing::HasSubstr;

/// An engine that is always ready.
class ReadyEngine final : public EngineGate {
 public:
  EnginePhase phase() const override { return EnginePhase::kReady; }
  std::string message() const override { return "engine is ready"; }
  net::Task<bool> wait_ready(Duration) override { co_return true; }
  void suspect() override {}
  net::Endpoint endpoint() const override { return {.unix_path = "/e.sock"}; }
  bool was_ready() const override { return false; }
};

Result<std::optional<WeightOptions>> options_of(
    std::vector<std::string> arguments,
    const Environment& environment = [](const char*) { return std::optional<std::string>(); }) {
  CLI::App app;
  WeightFlags flags;
  add_weight_flags(app, flags);
  std::vector<const char*> argv = {"noded"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  app.parse(static_cast<int>(argv.size()), argv.data());
  return weight_options(flags, environment);
}

const std::string kDigest(64, 'a');

TEST(WeightOptions, NoneAreAskedForWithoutAnAddress) {
  const auto none = options_of({});
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
}

TEST(WeightOptions, TakeMirrorsAndWhatTheOperatorPasses) {
  const auto made =
      options_of({"--model-url=https://a.example/m", "--model-url=http://b.example/m",
                  "--model-sha256=" + kDigest, "--model-cache=/models", "--model-cache-quota=500"});
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_TRUE(made->has_value());
  EXPECT_EQ((*made)->spec.urls.size(), 2u);
  EXPECT_EQ((*made)->spec.urls[1].host, "b.example");
  EXPECT_EQ((*made)->spec.sha256, kDigest);
  EXPECT_EQ((*made)->settings.cache, "/models");
  EXPECT_EQ((*made)->settings.quota_bytes, 500);
}

TEST(WeightOptions, NameTheFlagThatIsWrong) {
  const std::string url = "--model-url=http://a.example/m";
  const std::string digest = "--model-sha256=" + kDigest;
  const std::string cache = "--model-cache=/models";
  const struct {
    std::vector<std::string> arguments;
    const char* words;
  } cases[] = {
      {{digest, cache}, "--model-url: required"},
      {{"--model-url=ftp://a/m", digest, cache}, "--model-url: \"ftp://a/m\": expected an http"},
      {{url, cache}, "--model-sha256: expected 64"},
      {{url, "--model-sha256=../../etc", cache}, "--model-sha256: expected 64"},
      {{url, digest}, "--model-cache: required"},
      {{url, digest, cache, "--model-ca-file=/nonexistent/ca.pem"}, "--model-ca-file"},
  };
  for (const auto& c : cases) {
    const auto made = options_of(c.arguments);
    ASSERT_FALSE(made.ok()) << c.words;
    EXPECT_THAT(made.error().message, HasSubstr(c.words));
  }
  const auto proxy = options_of({url, digest, cache}, [](const char*) {
    return std::optional<std::string>("socks5://p.example");
  });
  ASSERT_FALSE(proxy.ok());
  EXPECT_THAT(proxy.error().message, HasSubstr("all_proxy"));
}

TEST(PodWeights, WithoutWeightsTheEngineIsSeenAsItIs) {
  ReadyEngine engine;
  PodWeights weights(std::nullopt, engine, system_clock());
  weights.start();
  EXPECT_TRUE(weights.ready());
  EXPECT_EQ(weights.phase(), EnginePhase::kReady);
  EXPECT_EQ(weights.message(), "engine is ready");
  EXPECT_FALSE(weights.state().has_value());
}

/// The weights of one test, with the server's answer.
struct Scene {
  explicit Scene(FileServer::Plan plan)
      : content(fake_weights(100'000)), server(content, std::move(plan)) {
    WeightOptions options;
    options.spec = {.urls = {server.url()}, .sha256 = sha256_hex(content)};
    options.settings.cache = dir.file("cache");
    options.settings.spare_bytes = 0;
    weights.emplace(options, engine, system_clock());
    weights->start();
  }
  bool wait_ready(Duration timeout) {
    boost::asio::io_context io;
    return net::run_on(io, weights->wait_ready(timeout));
  }

  std::string content;
  FileServer server;
  net::TempDir dir;
  ReadyEngine engine;
  std::optional<PodWeights> weights;
};

TEST(PodWeights, ThereIsNoEngineBeforeTheyAreThere) {
  Scene scene(
      [](const SeenRequest&, int) { return FileAnswer{.cut_after = 50'000, .stalls = true}; });
  ASSERT_TRUE(net::eventually([&] { return scene.weights->state()->bytes_done == 50'000; }));
  EXPECT_FALSE(scene.weights->ready());
  EXPECT_EQ(scene.weights->phase(), EnginePhase::kFetching);
  EXPECT_EQ(scene.weights->message(), "weights: weights are being downloaded");
  EXPECT_FALSE(scene.wait_ready(std::chrono::milliseconds(60)));
}

TEST(PodWeights, ARoundThatFailedIsACrashLoopThatNobodyWaitsFor) {
  Scene scene([](const SeenRequest&, int) { return FileAnswer{.status = 404, .body = "none"}; });
  ASSERT_TRUE(net::eventually([&] { return scene.weights->phase() == EnginePhase::kCrashLoop; }));
  EXPECT_THAT(scene.weights->message(), HasSubstr("404 Not Found; next try in 300 s"));
  const TimePoint begin = system_clock().now();
  EXPECT_FALSE(scene.wait_ready(std::chrono::minutes(1)));
  EXPECT_LT(system_clock().now() - begin, std::chrono::seconds(5));
}

TEST(PodWeights, TheEngineIsSeenOnceTheyAreThere) {
  Scene scene({});
  EXPECT_TRUE(scene.wait_ready(std::chrono::seconds(5)));
  EXPECT_TRUE(scene.weights->ready());
  EXPECT_EQ(scene.weights->phase(), EnginePhase::kReady);
  EXPECT_EQ(scene.weights->state()->phase, WeightsPhase::kReady);
  MetricRegistry metrics;
  scene.weights->open_metrics(metrics, "a-0");
  EXPECT_THAT(metrics.scrape(), HasSubstr("kantha_noded_weights_ready{pod=\"a-0\"} 1"));
}

}  // namespace
}  // namespace kantha::noded
