#include "noded/fleet/peer_load.h"

#include <gtest/gtest.h>

namespace kantha::noded {
namespace {

TEST(PeerLoad, IsReadAsItWasWritten) {
  const PeerLoad load{"a-0", "org/model;v=1 %\n\xC3\xA4", EnginePhase::kReady, 7, 0.125, 42, 9000};
  const std::string text = load_text(load);
  EXPECT_EQ(text.find('\n'), std::string::npos) << "it becomes a header";
  const auto again = load_from_text(text);
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(*again, load);
}

TEST(PeerLoad, OfAnOlderPeerDoesNotSayHowLongItIsReady) {
  const PeerLoad load{"a-0", "m", EnginePhase::kReady, 7, 0.125, 42};
  EXPECT_EQ(load_text(load).find("ready_ms"), std::string::npos);
  EXPECT_FALSE(load_from_text(load_text(load))->ready_ms);
}

TEST(PeerLoad, IgnoresPartsOfANewerPeer) {
  const auto load = load_from_text("pod=a;heat=1,2,3;phase=ready;;x");
  ASSERT_TRUE(load.ok());
  EXPECT_EQ(load->phase, EnginePhase::kReady);
}

TEST(PeerLoad, RefusesWhatALyingPeerSays) {
  const std::string cases[] = {"",
                               "phase=ready",
                               "pod=",
                               "pod=a;phase=excellent",
                               "pod=a;running=-1",
                               "pod=a;running=many",
                               "pod=a;running=99999999999999999999",
                               "pod=a;ready_ms=-1",
                               "pod=a;ready_ms=long",
                               "pod=a;pressure=nan",
                               "pod=a;pressure=inf",
                               "pod=a;pressure=0.1x",
                               "pod=a%",
                               "pod=a%4",
                               "pod=a%zz",
                               "pod=" + std::string(2000, 'a')};
  for (const std::string& text : cases) EXPECT_FALSE(load_from_text(text).ok()) << text;
}

}  // namespace
}  // namespace kantha::noded
