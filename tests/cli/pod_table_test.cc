#include "cli/pod_table.h"

#include <gtest/gtest.h>

#include "cli/control_client.h"

namespace kantha::cli {
namespace {

using local::PodView;
using local::WorldView;

WorldView sample() {
  WorldView view;
  view.name = "smollm2";
  view.model = "smollm2-135m";
  view.endpoint = "http://127.0.0.1:8000";
  view.counts = {2, 2, 1, 1, 1};
  view.target_revision = "r-0123456789";
  PodView serving{"smollm2-0", "ready", "", "r-0123456789", 0, 3, 0.254, 12.54, 99};
  PodView down{"smollm2-1", "down", "noded ended: exit 3", "", 12, 0, 0, 0, 0};
  view.pods = {serving, down};
  return view;
}

TEST(PodTable, ShowsEachPodInAlignedColumns) {
  EXPECT_EQ(pod_table(sample()),
            "smollm2  smollm2-135m  http://127.0.0.1:8000  1/2 ready\n"
            "POD        PHASE  RESTARTS  STREAMS  KV%  TOK/S  MESSAGE\n"
            "smollm2-0  ready         0        3   25   12.5\n"
            "smollm2-1  down         12        0    -      -  noded ended: exit 3\n");
}

TEST(PodTable, NothingFromOutsideReachesTheTerminalAsACommand) {
  WorldView view = sample();
  view.model = "\x1b[2Jm";
  view.pods[1].message = "a\nb\x1b[31m";
  const std::string table = pod_table(view);
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 4);
}

TEST(WorldTable, ListsWorldsAndWideAddsTheirPods) {
  EXPECT_EQ(world_table({sample()}, false),
            "NAME     READY  UPDATED  STREAMS  ENDPOINT               MODEL\n"
            "smollm2    1/2        1        3  http://127.0.0.1:8000  smollm2-135m\n");
  const std::string wide = world_table({sample()}, true);
  EXPECT_NE(wide.find("r-0123456789"), std::string::npos);
  EXPECT_NE(wide.find("smollm2-1  down"), std::string::npos);
}

TEST(AlignColumns, CountsCharactersNotBytes) {
  EXPECT_EQ(align_columns({{"é", "1"}, {"ab", "22"}}), "é    1\nab  22\n");
  EXPECT_EQ(align_columns({}), "");
  EXPECT_EQ(align_columns({{"a", "b", ""}, {"c"}}), "a  b\nc\n") << "no blanks at the end";
}

TEST(CutLines, KeepsWholeCharactersAndLines) {
  EXPECT_EQ(cut_lines("abcdef\nxy\n", 3), "abc\nxy\n");
  EXPECT_EQ(cut_lines("ééé\n", 2), "éé\n");
  EXPECT_EQ(cut_lines("abcdef\n", 0), "abcdef\n");
}

TEST(FirstLines, KeepsWholeLines) {
  EXPECT_EQ(first_lines("a\nb\nc\n", 2), "a\nb\n");
  EXPECT_EQ(first_lines("a\nb\n", 9), "a\nb\n");
  EXPECT_EQ(first_lines("a\n", 0), "");
}

TEST(ChangesBetween, TellsNewsAndNotNumbers) {
  const WorldView before = sample();
  EXPECT_TRUE(changes_between(before, before).empty());
  WorldView busy = before;
  busy.pods[0].streams = 9;
  busy.pods[0].tokens_per_second = 80;
  busy.pods[0].kv_used = 0.9;
  EXPECT_TRUE(changes_between(before, busy).empty());

  WorldView now = before;
  now.pods[1].phase = "ready";
  now.pods[1].message.clear();
  now.counts.available = 2;
  using Lines = std::vector<std::string>;
  EXPECT_EQ(changes_between(before, now),
            (Lines{"smollm2-1: ready, 12 restarts", "2 of 2 pods ready"}));
  now.pods.pop_back();
  EXPECT_EQ(changes_between(before, now), (Lines{"smollm2-1: gone", "2 of 2 pods ready"}));
  EXPECT_EQ(changes_between(WorldView{}, before).front(), "smollm2-0: ready");
}

TEST(PlainName, TakesKubectlsForms) {
  for (const char* text : {"m", "kms/m", "modelserving/m", "modelservings/m"}) {
    EXPECT_EQ(plain_name(text), "m");
  }
  EXPECT_EQ(plain_name("pod/m"), "pod/m");
}

}  // namespace
}  // namespace kantha::cli
