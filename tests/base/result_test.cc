#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace kantha {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return invalid_argument("odd: " + std::to_string(value), "value");
  return value / 2;
}

Result<int> quarter(int value) {
  TRY(const int once, half(value));
  TRY(const int twice, half(once));
  return twice;
}

Status check_even(int value) {
  TRY_OK([&]() -> Status {
    if (value % 2 != 0) return invalid_argument("odd");
    return ok_status();
  }());
  return ok_status();
}

TEST(Result, TryHandsOnTheValueOrTheError) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().message, "odd: 3");
  EXPECT_EQ(quarter(6).error().field, "value");
}

TEST(Result, CarriesValuesThatOnlyMove) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(3));
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 3);
}

TEST(Status, TryOkHandsOnTheError) {
  EXPECT_TRUE(check_even(2).ok());
  EXPECT_FALSE(check_even(3).ok());
}

TEST(Error, ContextGoesInFrontOfTheMessage) {
  const Error error = not_found("no such file").with_context("model.gguf");
  EXPECT_EQ(error.message, "model.gguf: no such file");
  EXPECT_EQ(error.to_string(), "not_found: model.gguf: no such file");
  EXPECT_EQ(invalid_argument("bad", "spec.replicas").to_string(),
            "invalid_argument: bad (spec.replicas)");
}

TEST(Error, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(Code::kInternal); ++code) {
    names.insert(code_name(static_cast<Code>(code)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Code::kInternal) + 1);
}

TEST(ResultDeathTest, TakingTheValueOfAFailureEndsTheProcess) {
  EXPECT_DEATH(static_cast<void>(half(1).value()), "odd: 1");
}

}  // namespace
}  // namespace kantha
