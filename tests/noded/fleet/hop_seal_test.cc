#include "noded/fleet/hop_seal.h"

#include <gtest/gtest.h>

namespace kantha::noded {
namespace {

constexpr std::string_view kPath = "/v1/completions";

class HopSealTest : public testing::Test {
 protected:
  HopSeal of(std::string pod) {
    return {std::move(pod), [this] { return token_; }, clock_};
  }
  std::string token_ = "secret";
  FakeClock clock_;
};

TEST_F(HopSealTest, OpensForTheOneThatItIsMeantFor) {
  const std::string mark = of("a-0").seal("a-1", "POST", kPath);
  const auto from = of("a-1").open(mark, "POST", kPath);
  ASSERT_TRUE(from.ok()) << from.error().to_string();
  EXPECT_EQ(*from, "a-0");
}

TEST_F(HopSealTest, IsGoodForOnePodOneRequestLineAndAMinute) {
  const std::string mark = of("a-0").seal("a-1", "POST", kPath);
  EXPECT_FALSE(of("a-2").open(mark, "POST", kPath).ok());
  EXPECT_FALSE(of("a-1").open(mark, "GET", kPath).ok());
  EXPECT_FALSE(of("a-1").open(mark, "POST", "/v1/models").ok());
  clock_.advance(std::chrono::seconds(60));
  EXPECT_TRUE(of("a-1").open(mark, "POST", kPath).ok());
  clock_.advance(std::chrono::seconds(1));
  EXPECT_FALSE(of("a-1").open(mark, "POST", kPath).ok());
}

TEST_F(HopSealTest, CannotBeMadeNorChangedWithoutTheSecret) {
  const std::string mark = of("a-0").seal("a-1", "POST", kPath);
  for (std::size_t i = 0; i < mark.size(); ++i) {
    std::string changed = mark;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(of("a-1").open(changed, "POST", kPath).ok()) << i;
    EXPECT_FALSE(of("a-1").open(mark.substr(0, i), "POST", kPath).ok()) << i;
  }
  for (const char* made_up : {"", "1", "mac=", ";mac=", "from=a-0;to=a-1;at=0;mac="}) {
    EXPECT_FALSE(of("a-1").open(made_up, "POST", kPath).ok()) << made_up;
  }
  token_ = "another secret";
  EXPECT_FALSE(of("a-1").open(mark, "POST", kPath).ok());
}

TEST_F(HopSealTest, WithoutASecretNothingIsSealedOrBelieved) {
  token_.clear();
  EXPECT_TRUE(of("a-0").seal("a-1", "POST", kPath).empty());
  EXPECT_FALSE(of("a-1").open("from=a-0;to=a-1;at=0;mac=", "POST", kPath).ok());
}

}  // namespace
}  // namespace kantha::noded
