#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.h"

/// `kantha sim` as a user meets it.
namespace kantha::cli {
namespace {

namespace fs = std::filesystem;

struct Output {
  int status = -1;
  std::string out;  ///< standard output
  std::string err;
};

class SimTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(root_); }
  void TearDown() override { fs::remove_all(root_); }

  std::string text_of(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(root_ + "/" + name).rdbuf();
    return text.str();
  }
  Output sim(const std::string& args) const {
    const char* bin = std::getenv("KANTHA_BIN_DIR");
    const std::string command = "cd '" + root_ + "' && timeout 100 '" +
                                (bin == nullptr ? "." : bin) + "/kantha' sim " + args +
                                " >out 2>err";
    const int status = std::system(command.c_str());
    return {WEXITSTATUS(status), text_of("out"), text_of("err")};
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ + "/" + name) << text;
  }

  const std::string root_ =
      (fs::temp_directory_path() / ("ks-" + std::to_string(getpid()))).string();
};

TEST_F(SimTest, LengthsShowTheStepsOfEachPolicy) {
  const Output small = sim("--lengths 4,2,3,2,1 --slots 3");
  EXPECT_EQ(small.status, 0) << small.err;
  EXPECT_EQ(small.out,
            "static: 6 steps, 67 % of the slots used\n"
            "    1 of 4   |####\n    2 of 2   |##..\n    3 of 3   |###.\n"
            "    4 of 2   |    ##\n    5 of 1   |    #.\n"
            "dynamic: 6 steps, 67 % of the slots used\n"
            "    1 of 4   |####\n    2 of 2   |##..\n    3 of 3   |###.\n"
            "    4 of 2   |    ##\n    5 of 1   |    #.\n"
            "continuous: 4 steps, 100 % of the slots used\n"
            "    1 of 4   |####\n    2 of 2   |##\n    3 of 3   |###\n"
            "    4 of 2   |  ##\n    5 of 1   |   #\n");
  const Output large = sim("--lengths 100,5,5,5,5,5,5,5 --slots 4 --json");
  const Json json = Json::parse(large.out);
  EXPECT_EQ(json["policies"]["static"]["steps"], 105);
  EXPECT_EQ(json["policies"]["dynamic"]["steps"], 105);
  EXPECT_EQ(json["policies"]["continuous"]["steps"], 100);
}

TEST_F(SimTest, PoissonShowsEachLoadUnderEachPolicyAndFlagsOverload) {
  const std::string args = "--poisson 0.5,1.3 --slots 8 --requests 1500 --shape 60~0.5:40~0.5";
  const Output table = sim(args);
  ASSERT_EQ(table.status, 0) << table.err;
  EXPECT_NE(table.out.find("\nload 0.5: "), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("\nload 1.3: "), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("* not in steady state"), std::string::npos) << table.out;
  const Json json = Json::parse(sim(args + " --json").out);
  const auto continuous = [&](std::size_t load) {
    return json["loads"][load]["policies"]["continuous"];
  };
  EXPECT_TRUE(continuous(0)["little"]["steady"].get<bool>());
  EXPECT_FALSE(continuous(1)["little"]["steady"].get<bool>());
  EXPECT_LT(continuous(0)["ttft_s"]["p99"].get<double>(),
            continuous(1)["ttft_s"]["p50"].get<double>());
}

TEST_F(SimTest, TheSameSeedGivesTheSameBytes) {
  const std::string args = "--poisson 0.7 --requests 300 --slots 8 --blocks 300 --json --seed ";
  const std::string first = sim(args + "5").out;
  EXPECT_GT(first.size(), 100u);
  EXPECT_EQ(first, sim(args + "5").out);
  EXPECT_NE(first, sim(args + "6").out);
}

TEST_F(SimTest, ATraceIsReplayed) {
  write("a.jsonl",
        R"({"at_ms":0,"prompt_tokens":500,"output_tokens":20,"prefix_id":"p","prefix_tokens":480}
{"at_ms":900,"prompt_tokens":500,"output_tokens":20,"prefix_id":"p","prefix_tokens":480}
{"at_ms":900,"prompt_tokens":9000,"output_tokens":20}
)");
  const Json json = Json::parse(sim("--trace a.jsonl --policy continuous --json").out);
  EXPECT_EQ(json.size(), 1u);
  EXPECT_EQ(json["continuous"]["requests"], 3);
  EXPECT_EQ(json["continuous"]["done"], 2);
  EXPECT_EQ(json["continuous"]["too_long"], 1);
  EXPECT_GE(json["continuous"]["prefix_hit_share"].get<double>(), 480.0 / 1000);
  const Json cold =
      Json::parse(sim("--trace a.jsonl --policy continuous --no-prefix-cache --json").out);
  EXPECT_EQ(cold["continuous"]["prefix_hit_share"], 0);
}

TEST_F(SimTest, ATightPoolWastesLessThanWhereTheNewestGiveWay) {
  const auto recomputed = [&](const std::string& more) {
    const Output got =
        sim("--users 40 --each 20 --slots 32 --blocks 500 --policy continuous --json " + more);
    return Json::parse(got.out)["continuous"]["recompute_share"].get<double>();
  };
  EXPECT_LT(recomputed(""), recomputed("--newest-first") / 2);
}

TEST_F(SimTest, UsersWaitForTheirAnswers) {
  const Json json = Json::parse(
      sim("--users 5 --each 30 --shape 20:50 --policy continuous,static --slots 5 --json").out);
  EXPECT_EQ(json["continuous"]["done"], 150);
  EXPECT_NEAR(json["continuous"]["little"]["in_system"].get<double>(), 5, 0.2);
}

TEST_F(SimTest, FaultsNameFlagValueAndLimitAndExitWith2) {
  write("back.jsonl",
        "{\"at_ms\":5,\"prompt_tokens\":1,\"output_tokens\":1}\n"
        "{\"at_ms\":4,\"prompt_tokens\":1,\"output_tokens\":1}\n");
  write("empty.jsonl", "");
  const struct {
    const char* args;
    int status;
    const char* err;
  } cases[] = {
      {"", 2, "expected one of --lengths, --poisson, --trace and --users, got 0"},
      {"--lengths 1 --users 2", 2, "got 2"},
      {"--lengths 1,x", 2, "--lengths: expected integers in [1, 100000] with commas, got \"x\""},
      {"--lengths 0", 2, "got \"0\""},
      {"--poisson 11", 2, "--poisson: expected numbers in [0.01, 10] with commas, got \"11\""},
      {"--lengths 1 --slots 0", 2, "--slots: Value 0 not in range 1 to 4096"},
      {"--lengths 1 --policy magic", 2, "known policies: static, dynamic, continuous"},
      {"--poisson 1 --cost speed=1", 2, "cost: unknown key \"speed\""},
      {"--poisson 1 --shape large", 2, "shape: expected \"sharegpt\" or PROMPT:OUTPUT"},
      {"--trace back.jsonl", 2, "back.jsonl: line 2: at_ms: expected at least 5"},
      {"--trace empty.jsonl", 2, "empty.jsonl: no arrivals"},
      {"--trace none.jsonl", 1, "none.jsonl: cannot be opened"},
  };
  for (const auto& c : cases) {
    const Output got = sim(c.args);
    EXPECT_EQ(got.status, c.status) << c.args << ": " << got.err;
    EXPECT_NE(got.err.find(c.err), std::string::npos) << c.args << ": " << got.err;
    EXPECT_EQ(got.out, "") << c.args;
  }
  const Output help = sim("--help");
  EXPECT_NE(help.out.find("kantha sim --trace arrivals.jsonl"), std::string::npos) << help.out;
}

}  // namespace
}  // namespace kantha::cli
