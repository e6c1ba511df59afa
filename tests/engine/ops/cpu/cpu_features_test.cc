#include "engine/ops/cpu/cpu_features.h"

#include <gtest/gtest.h>

namespace kantha::ops::cpu {
namespace {

constexpr CpuFeatures kAll{true, true, true, true, true};

struct Choice {
  const char* name;
  CpuFeatures features;
  const char* wanted;
  const char* result;  ///< table's name, or part of the error
  bool ok;
};

const Choice kChoices[] = {
    {"everything gives the best", kAll, "", "avx512", true},
    {"avx2 can be asked for", kAll, "avx2", "avx2", true},
    {"avx512 can be asked for", kAll, "avx512", "avx512", true},
    {"without VNNI the floor is used", {true, true, true, true, false}, "", "avx2", true},
    {"asking for a missing level names it",
     {true, true, true, true, false},
     "avx512",
     "VNNI",
     false},
    {"no AVX-512 when asked", {true, true, true, false, false}, "avx512", "AVX-512", false},
    {"no AVX2", {false, true, true, false, false}, "", "AVX2", false},
    {"no FMA", {true, false, true, false, false}, "", "FMA", false},
    {"no F16C", {true, true, false, true, true}, "", "F16C", false},
    {"unknown name", kAll, "sse9", "got \"sse9\"", false},
};

TEST(CpuFeatures, choose_the_best_kernels_or_name_what_is_missing) {
  for (const Choice& c : kChoices) {
    const auto table = choose_kernels(c.features, c.wanted);
    ASSERT_EQ(table.ok(), c.ok) << c.name;
    if (c.ok) {
      EXPECT_STREQ((*table)->name, c.result) << c.name;
    } else {
      EXPECT_NE(table.error().message.find(c.result), std::string::npos)
          << c.name << ": " << table.error().message;
    }
  }
}

TEST(CpuFeatures, a_missing_feature_is_unimplemented_and_a_bad_name_invalid) {
  EXPECT_EQ(choose_kernels({}, "").error().code, Code::kUnimplemented);
  EXPECT_EQ(choose_kernels(kAll, "neon").error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace kantha::ops::cpu
