#include "base/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include <CLI/CLI.hpp>

namespace kantha {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Read {
  Status status;
  std::string help;
  int count = 0;
  bool is_backwards = false;
};

Read read(std::vector<const char*> words) {
  CLI::App app{"Counts"};
  Read out{ok_status(), "of an earlier call"};
  app.add_option("--count", out.count, "How many")->check(CLI::Range(1, 9));
  app.add_subcommand("again", "Counts again")->add_flag("--backwards", out.is_backwards);
  words.insert(words.begin(), "counter");
  out.status = parse_command_line(app, static_cast<int>(words.size()), words.data(), out.help);
  return out;
}

TEST(CommandLine, FillsWhatTheFlagsPointAt) {
  const Read got = read({"--count", "3"});
  EXPECT_TRUE(got.status.ok());
  EXPECT_EQ(got.count, 3);
  EXPECT_EQ(got.help, "");
}

TEST(CommandLine, GivesHelpOfTheProgramOrOfTheSubcommand) {
  const Read all = read({"--help"});
  EXPECT_TRUE(all.status.ok());
  EXPECT_THAT(all.help, HasSubstr("--count"));
  const Read one = read({"again", "--help"});
  EXPECT_TRUE(one.status.ok());
  EXPECT_THAT(one.help, HasSubstr("--backwards"));
  EXPECT_THAT(one.help, Not(HasSubstr("--count")));
}

TEST(CommandLine, SaysWhatIsWrong) {
  for (const std::vector<const char*>& words :
       {std::vector<const char*>{"--count", "10"}, {"--count"}, {"--cuont", "1"}, {"stray"}}) {
    const Read got = read(words);
    ASSERT_FALSE(got.status.ok()) << words.front();
    EXPECT_EQ(got.status.error().code, Code::kInvalidArgument);
    EXPECT_THAT(got.status.error().message, HasSubstr(words.front()));
    EXPECT_EQ(got.help, "");
  }
}

}  // namespace
}  // namespace kantha
