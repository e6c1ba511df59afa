#include "base/version.h"

#include <gtest/gtest.h>

namespace kantha {
namespace {

TEST(Version, HasThreeNumbers) {
  int dots = 0;
  for (const char c : version()) {
    if (c == '.') {
      ++dots;
    } else {
      EXPECT_TRUE(c >= '0' && c <= '9') << version();
    }
  }
  EXPECT_EQ(dots, 2);
}

}  // namespace
}  // namespace kantha
