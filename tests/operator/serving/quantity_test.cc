#include "operator/serving/quantity.h"

#include <gtest/gtest.h>

namespace kantha::serving {
namespace {

TEST(Quantity, ReadsWhatKubernetesReads) {
  const struct {
    const char* text;
    std::int64_t milli;
  } cases[] = {
      {"0", 0},
      {"2", 2000},
      {"500m", 500},
      {"0.5", 500},
      {".5", 500},
      {"5.", 5000},
      {"1k", 1'000'000},
      {"1M", 1'000'000'000},
      {"1Ki", 1024'000},
      {"512Mi", 536'870'912'000},
      {"2Gi", 2'147'483'648'000},
      {"1.5Gi", 1'610'612'736'000},
      {"1e3", 1'000'000},
      {"1E3", 1'000'000},
      {"1e+3", 1'000'000},
      {"1e-3", 1},
      {"007", 7000},
      {"9P", 9'000'000'000'000'000'000},
      {"2000u", 2},
      {"3000000n", 3},
  };
  for (const auto& c : cases) {
    const auto read = quantity_milli(c.text);
    ASSERT_TRUE(read.ok()) << c.text << ": " << read.error().to_string();
    EXPECT_EQ(*read, c.milli) << c.text;
  }
}

TEST(Quantity, RefusesWhatIsNone) {
  for (const char* text : {"",     " ",
                           "two",  "-1",
                           "+1",   "1 Gi",
                           "1GiB", "1gi",
                           "Gi",   ".",
                           "1..2", "1.2.3",
                           "0x10", "1K",
                           "1e",   "1e99",
                           "1m1",  "1_000",
                           "NaN",  "inf",
                           "1Zi",  "12345678901234567890"}) {
    EXPECT_EQ(quantity_milli(text).ok(), false) << text;
  }
  EXPECT_NE(quantity_milli("two").error().message.find("\"two\""), std::string::npos);
}

TEST(Quantity, RefusesWhatDoesNotFitInsteadOfWrapping) {
  for (const char* text : {"10P", "1E", "8Ei", "999999999999999999E", "999999999999999999Ei",
                           "1e18", "1u", "1n", "0.0001"}) {
    const auto read = quantity_milli(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, Code::kOutOfRange) << text;
  }
}

TEST(Quantity, WholeUnitsRoundUp) {
  EXPECT_EQ(*quantity_units("500m"), 1);
  EXPECT_EQ(*quantity_units("2Gi"), 2'147'483'648);
  EXPECT_EQ(*quantity_units("0"), 0);
  EXPECT_EQ(*quantity_units("0.3Ki"), 308) << "307.2 bytes";
}

TEST(IntOrPercent, ReadsCountsAndShares) {
  EXPECT_EQ(*parse_int_or_percent("3"), (IntOrPercent{3, false}));
  EXPECT_EQ(*parse_int_or_percent("25%"), (IntOrPercent{25, true}));
  for (const char* text :
       {"", "%", "-1", "+1", "05%", "1.5%", "25 %", "25%%", "a", "99999999999999999999"}) {
    EXPECT_FALSE(parse_int_or_percent(text).ok()) << text;
  }
  EXPECT_EQ(int_or_percent_text({25, true}), "25%");
}

TEST(IntOrPercent, ResolvesAgainstATotal) {
  EXPECT_EQ(resolve({2, false}, 10), 2);
  EXPECT_EQ(resolve({25, true}, 8), 2);
  EXPECT_EQ(resolve({25, true}, 7), 1) << "rounds down";
  EXPECT_EQ(resolve({1, true}, 8), 1) << "but a share of something is something";
  EXPECT_EQ(resolve({25, true}, 0), 0);
  EXPECT_EQ(resolve({100, true}, INT64_MAX), INT64_MAX);
}

}  // namespace
}  // namespace kantha::serving
