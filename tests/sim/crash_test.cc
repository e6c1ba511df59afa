#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/sim/scenario.h"

/// F19 and its neighbours: the operator dies at, before or after any of its calls, in every story,
/// and the cluster ends where it ends without that.
namespace kantha::sim {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n  " + line;
  return text;
}

/// KANTHA_SIM_ALL: every call, and not every third.
std::uint64_t stride() { return std::getenv("KANTHA_SIM_ALL") != nullptr ? 1 : 3; }

class EveryStory : public testing::TestWithParam<std::string> {};

TEST_P(EveryStory, EndsWellWithoutFaults) {
  const Telling plain = tell(scenario(GetParam()));
  EXPECT_TRUE(plain.failures.empty()) << joined(plain.failures) << "\n" << plain.report;
}

TEST_P(EveryStory, F19EndsTheSameHoweverItIsCutShort) {
  const Scenario& story = scenario(GetParam());
  const Telling plain = tell(story);
  ASSERT_TRUE(plain.failures.empty()) << joined(plain.failures);
  for (std::uint64_t call = 0; call < plain.calls; call += stride()) {
    for (const bool after : {false, true}) {
      bool armed = true;
      const Telling cut = tell(story, {}, [&](OperatorRun& run) {
        if (std::exchange(armed, false)) {
          run.transport().set_faults(fake::crash_at(call, after));
        }
      });
      const auto lines = divergence(plain, cut);
      ASSERT_TRUE(lines.empty()) << "died " << (after ? "after" : "before") << " call " << call
                                 << " of " << plain.calls << joined(lines) << "\n"
                                 << cut.report;
    }
  }
}

TEST_P(EveryStory, F20F21EndsTheSameWhenAnAnswerIsLostOrWrong) {
  const Scenario& story = scenario(GetParam());
  const Telling plain = tell(story);
  for (const fake::FaultKind kind :
       {fake::FaultKind::kDropAnswer, fake::FaultKind::kErrorAfter, fake::FaultKind::kHang,
        fake::FaultKind::kGarble, fake::FaultKind::kErrorBefore, fake::FaultKind::kThrottle,
        fake::FaultKind::kRefuse}) {
    for (std::uint64_t call = 0; call < plain.calls; call += 3 * stride()) {
      const Telling cut = tell(story, {}, [&](OperatorRun& run) {
        run.transport().set_faults([=](std::uint64_t at, const fake::ApiRequest&) {
          return fake::Fault{.kind = at == call ? kind : fake::FaultKind::kNone};
        });
      });
      const auto lines = divergence(plain, cut);
      ASSERT_TRUE(lines.empty()) << "fault " << static_cast<int>(kind) << " at call " << call
                                 << joined(lines) << "\n"
                                 << cut.report;
    }
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Scenario& story : scenarios()) all.push_back(story.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Stories, EveryStory, testing::ValuesIn(names()), [](const auto& info) {
  std::string name;
  for (const char c : info.param) {
    if (std::isalnum(static_cast<unsigned char>(c))) name += c;
  }
  return name;
});

}  // namespace
}  // namespace kantha::sim
