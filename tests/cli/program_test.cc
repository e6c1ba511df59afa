#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "base/clock.h"
#include "base/json.h"
#include "base/net/task.h"

#include "base/net/http_server.h"
#include "base/process.h"

/// The program `kantha` as a user meets it, with tests/fake/fake_noded in the place of noded.
namespace kantha::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr Duration kPatience = 30s;

struct Output {
  int status = -1;
  std::string out;
  std::string err;
};

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class ProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_);
    const char* bin = std::getenv("KANTHA_BIN_DIR");
    bin_ = bin == nullptr ? "." : bin;
    std::ofstream(root_ + "/m.gguf") << "weights";
    write_spec("m.yaml", "  replicas: 1\n");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write_spec(const std::string& name, const std::string& lines) const {
    std::ofstream(root_ + "/" + name)
        << "apiVersion: serving.kantha.dev/v1alpha1\nkind: ModelServing\nmetadata: {name: m}\n"
           "spec:\n  model: {source: {hostPath: m.gguf}}\n  engine: {image: /bin/true}\n"
        << lines;
  }

  std::vector<std::pair<std::string, std::string>> environment() const {
    return {{"KANTHA_BIN_DIR", bin_ + "/fake"},
            {"XDG_RUNTIME_DIR", root_},
            {"XDG_CACHE_HOME", root_ + "/cache"},
            // No cluster of whoever runs the test.
            {"HOME", root_},
            {"KUBECONFIG", ""},
            {"KUBERNETES_SERVICE_HOST", ""}};
  }

  /// Runs `kantha ARGS` to its end, standard input from `input`.
  Output kantha(const std::string& args, const std::string& input = "") const {
    std::ofstream(root_ + "/in") << input;
    std::string command = "cd '" + root_ + "' && ";
    for (const auto& [name, value] : environment()) command += name + "='" + value + "' ";
    command += "timeout 60 '" + bin_ + "/kantha' " + args + " <in >out 2>err";
    const int status = std::system(command.c_str());
    return {WEXITSTATUS(status), text_of(root_ + "/out"), text_of(root_ + "/err")};
  }

  /// Starts `kantha up` in the background.
  void start(const std::vector<std::string>& more) {
    ProcessSpec spec;
    spec.binary = bin_ + "/kantha";
    spec.args = {"up", "-f", root_ + "/m.yaml", "--listen", "127.0.0.1:0"};
    spec.args.insert(spec.args.end(), more.begin(), more.end());
    spec.environment = environment();
    spec.log_path = root_ + "/up.log";
    up_.emplace(Process::spawn(spec).value());
  }
  /// The same, and waits for its ready line.
  void start_up() {
    start({});
    ASSERT_TRUE(reached([&] { return up_log().find("ready: ") != std::string::npos; })) << up_log();
  }
  std::string up_log() const { return text_of(root_ + "/up.log"); }

  template <class Condition>
  static bool reached(Condition condition) {
    const TimePoint until = system_clock().now() + kPatience;
    while (!condition()) {
      if (system_clock().now() > until) return false;
      std::this_thread::yield();
    }
    return true;
  }

  Json world() const {
    const Output got = kantha("get m -o json");
    return got.status == 0 ? Json::parse(got.out) : Json();
  }

  const std::string root_ =
      (fs::temp_directory_path() / ("kc-" + std::to_string(getpid()))).string();
  std::string bin_;
  std::optional<Process> up_;
};

TEST_F(ProgramTest, UsageErrorsExitWith2AndSayWhatIsKnown) {
  const struct {
    const char* args;
    int status;
    const char* err;
  } cases[] = {
      {"", 2,
       "expected a verb: up, chat, bench, get, explain, scale, rollout, key, model, sim, version"},
      {"fly", 2,
       "unknown verb \"fly\"; known verbs: up, chat, bench, get, explain, scale, rollout, key, "
       "model, sim, version"},
      {"up", 2, "--file"},
      {"up -f m.yaml --nope", 2, "--nope"},
      {"up -f m.yaml --listen nonsense", 2, "HOST:PORT"},
      {"model", 2, "subcommand"},
      {"model inspect m.gguf", 1, "m.gguf: not a GGUF file: it looks like something else"},
      {"get -o xml", 2, "xml"},
      {"scale m", 2, "--replicas"},
      {"scale m --replicas -1", 2, "--replicas"},
      {"scale m --replicas 2", 1, "no ModelServing \"m\" runs here; running: none"},
      {"get m", 1, "running: none"},
      {"get", 0, "No ModelServing runs here"},
      {"chat --url ftp:// hi", 2, "--url"},
      {"chat --url http://127.0.0.1:1 hi", 1, "no answer from http://127.0.0.1:1"},
  };
  for (const auto& c : cases) {
    const Output got = kantha(c.args);
    EXPECT_EQ(got.status, c.status) << c.args << ": " << got.err;
    EXPECT_NE(got.err.find(c.err), std::string::npos) << c.args << ": " << got.err;
    EXPECT_EQ(got.out, "") << c.args;
  }
  EXPECT_EQ(kantha("--help").status, 0);
  EXPECT_EQ(kantha("version").out.substr(0, 7), "kantha ");
  EXPECT_EQ(kantha("--version").out, kantha("version").out);
}

TEST_F(ProgramTest, AKeyIsMadeOnceAndItsDigestIsTheOneOfItsEntry) {
  const Output made = kantha("key new --tenant blue");
  ASSERT_EQ(made.status, 0) << made.err;
  ASSERT_EQ(made.out.size(), std::string("kantha-\n").size() + 64);
  EXPECT_TRUE(made.out.starts_with("kantha-"));
  const Json entry = Json::parse(made.err);
  EXPECT_EQ(entry["tenant"], "blue");
  const Output digest = kantha("key digest", made.out);
  EXPECT_EQ(digest.out, entry["sha256"].get<std::string>() + "\n");
  EXPECT_EQ(kantha("key digest", "abc").out,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n");
  EXPECT_NE(kantha("key new").out, made.out);
  EXPECT_EQ(kantha("key digest", "").status, 2);
  EXPECT_EQ(kantha("key").status, 2);
}

TEST_F(ProgramTest, AnInvalidFileTellsAllItsProblemsWithTheirPlaces) {
  write_spec("bad.yaml", "  replicas: two\n  drian: {}\n");
  const Output got = kantha("up -f bad.yaml");
  EXPECT_EQ(got.status, 2);
  EXPECT_EQ(got.err,
            "spec.replicas: expected an integer, got \"two\" (bad.yaml:7)\n"
            "spec.drian: unknown field; did you mean \"drain\"? (bad.yaml:8)\n");
  EXPECT_EQ(kantha("up -f absent.yaml").status, 2);
  fs::remove(root_ + "/m.gguf");
  const Output missing = kantha("up -f m.yaml");
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.err.find("scripts/fetch-model"), std::string::npos);
}

TEST_F(ProgramTest, APromptIsAnsweredOnStandardOutputAlone) {
  const Output got = kantha("up -f m.yaml --listen 127.0.0.1:0 --prompt 'hello there'");
  EXPECT_EQ(got.status, 0) << got.err;
  EXPECT_EQ(got.out, "echo hello there\n");
  EXPECT_NE(got.err.find("ready: http://127.0.0.1:"), std::string::npos);
  EXPECT_FALSE(fs::exists(root_ + "/kantha/m"));
}

TEST_F(ProgramTest, APromptThatFailsIsAFailure) {
  const Output broken = kantha("up -f m.yaml --listen 127.0.0.1:0 --prompt break");
  EXPECT_EQ(broken.status, 1);
  write_spec("zero.yaml", "  replicas: 0\n");
  const Output zero = kantha("up -f zero.yaml --listen 127.0.0.1:0 --prompt hi");
  EXPECT_EQ(zero.status, 1);
  EXPECT_NE(zero.err.find("spec.replicas is 0"), std::string::npos) << zero.err;
}

TEST_F(ProgramTest, GivingUpOnAPromptEndsAtOnce) {
  start({"--prompt", "forever"});
  ASSERT_TRUE(reached([&] { return up_log().find("echo ") != std::string::npos; })) << up_log();
  up_->signal(SIGINT);
  std::optional<ProcessExit> exit;
  ASSERT_TRUE(reached([&] { return (exit = up_->poll()).has_value(); })) << up_log();
  EXPECT_EQ(exit->to_string(), "exit 1");
  EXPECT_FALSE(fs::exists(root_ + "/kantha/m"));
}

TEST_F(ProgramTest, AWorldIsShownScaledTalkedToAndEnded) {
  start_up();
  EXPECT_NE(up_log().find("1 of 1 pods"), std::string::npos);
  // Printed after the ready line that start_up waits for.
  const auto has_example = [&] { return up_log().find("OpenAI(base_url=") != std::string::npos; };
  EXPECT_TRUE(reached(has_example)) << up_log();
  EXPECT_NE(kantha("get").out.find("m       1/1"), std::string::npos) << kantha("get").out;
  EXPECT_NE(kantha("get kms/m -o wide").out.find("m-0"), std::string::npos);

  const Output scaled = kantha("scale kms/m --replicas 2");
  EXPECT_EQ(scaled.out, "modelserving/m scaled to 2\n") << scaled.err;
  EXPECT_TRUE(reached([&] { return world()["status"]["availableReplicas"] == 2; }));
  EXPECT_EQ(world()["spec"]["replicas"], 2);

  EXPECT_EQ(kantha("chat --model m hi").out, "echo hi\n") << "finds what runs here";
  EXPECT_EQ(kantha("chat --model m", "from a pipe").out, "echo from a pipe\n");

  const Output twice = kantha("up -f m.yaml --listen 127.0.0.1:0");
  EXPECT_EQ(twice.status, 1);
  EXPECT_NE(twice.err.find("\"m\" already runs here"), std::string::npos) << twice.err;
  const std::string endpoint = world()["status"]["endpoint"];
  write_spec("other.yaml", "");
  const std::string text = text_of(root_ + "/other.yaml");
  std::ofstream(root_ + "/other.yaml") << text.substr(0, text.find("{name: m}")) << "{name: o}"
                                       << text.substr(text.find("{name: m}") + 9);
  const Output taken = kantha("up -f other.yaml --listen " + endpoint.substr(7));
  EXPECT_EQ(taken.status, 1);
  EXPECT_NE(taken.err.find("in use"), std::string::npos) << taken.err;

  up_->signal(SIGINT);
  std::optional<ProcessExit> exit;
  ASSERT_TRUE(reached([&] { return (exit = up_->poll()).has_value(); }));
  EXPECT_EQ(exit->to_string(), "exit 0");
  EXPECT_FALSE(fs::exists(root_ + "/kantha/m"));
}

TEST_F(ProgramTest, ALostTerminalEndsTheWorldAsCtrlCDoes) {
  start_up();
  up_->signal(SIGHUP);
  std::optional<ProcessExit> exit;
  ASSERT_TRUE(reached([&] { return (exit = up_->poll()).has_value(); }));
  EXPECT_EQ(exit->to_string(), "exit 0");
  EXPECT_FALSE(fs::exists(root_ + "/kantha/m"));
}

TEST_F(ProgramTest, AWorldOfNoPodsSaysSoAndChatDoesNotChooseAmongWorlds) {
  write_spec("m.yaml", "  replicas: 0\n");
  start({});
  ASSERT_TRUE(reached([&] { return up_log().find("\"m\" is scaled to 0") != std::string::npos; }))
      << up_log();
  const Output none = kantha("chat hi");
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("kantha scale m --replicas 1"), std::string::npos) << none.err;
  EXPECT_EQ(none.out, "");

  const std::string text = text_of(root_ + "/m.yaml");
  const std::size_t name = text.find("{name: m}");
  std::ofstream(root_ + "/o.yaml") << text.substr(0, name) << "{name: o}" << text.substr(name + 9);
  ProcessSpec spec;
  spec.binary = bin_ + "/kantha";
  spec.args = {"up", "-f", root_ + "/o.yaml", "--listen", "127.0.0.1:0"};
  spec.environment = environment();
  spec.log_path = root_ + "/o.log";
  Process other = Process::spawn(spec).value();
  ASSERT_TRUE(reached([&] { return text_of(root_ + "/o.log").find("503") != std::string::npos; }));
  const Output two = kantha("chat hi");
  EXPECT_EQ(two.status, 2);
  EXPECT_NE(two.err.find("choose one with --url: m at http://"), std::string::npos) << two.err;
}

TEST_F(ProgramTest, AKilledUpLeavesNoProcessAndItsNameIsFree) {
  start_up();
  ASSERT_EQ(kantha("scale m --replicas 2").status, 0);
  ASSERT_TRUE(reached([&] { return world()["status"]["availableReplicas"] == 2; }));
  const Json pods = world()["status"]["pods"];
  up_->signal(SIGKILL);
  for (const Json& pod : pods) {
    const auto pid = static_cast<pid_t>(pod["pid"].get<std::int64_t>());
    EXPECT_TRUE(reached([&] { return kill(pid, 0) != 0; })) << pod;
  }
  EXPECT_EQ(kantha("up -f m.yaml --listen 127.0.0.1:0 --prompt again").out, "echo again\n");
}

}  // namespace
}  // namespace kantha::cli
