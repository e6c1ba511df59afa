#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/clock.h"
#include "base/rng.h"
#include "operator/serving/model_serving_from_yaml.h"

namespace kantha::serving {
namespace {

constexpr const char* kSeedText = R"(apiVersion: serving.kantha.dev/v1alpha1
kind: ModelServing
metadata: {name: smollm2, labels: {team: "a"}}
spec:
  model:
    name: smollm2-135m-instruct
    source: {hostPath: /models/smollm2.gguf}
  engine:
    config: {maxModelLen: 8192, maxNumSeqs: 64, kvCacheMemory: 2Gi, prefixCaching: true}
  replicas: 2
  autoscaling: {minReplicas: 2, maxReplicas: 6, targetKvPressure: 0.7}
  rollout:
    rings: [{name: canary, size: 1}, {name: all, size: "100%"}]
    maxUnavailable: 1
  drain: {timeoutSeconds: 300}
)";

constexpr const char* kPieces[] = {"[",      "]",
                                   "{",      "}",
                                   ": ",     "- ",
                                   "---\n",  "...\n",
                                   "&a ",    "*a",
                                   "<<: ",   "!!int ",
                                   "!",      "? ",
                                   "|\n",    ">\n",
                                   "\t",     "\n",
                                   "\"",     "'",
                                   "#",      "%YAML 1.2\n",
                                   "\\x",    "010",
                                   "1e999",  "~",
                                   "\xFF",   "\xC3",
                                   ",",      "@",
                                   "`",      "\r",
                                   "- - - ", "replicas: 3\n",
                                   "  ",     "99999999999999999999",
                                   "yes",    "\xEF\xBB\xBF"};

/// One to eight random edits: replace, insert, delete, repeat a stretch.
std::string mutate(std::uint64_t seed) {
  std::string text = kSeedText;
  std::uint64_t counter = 0;
  const auto draw = [&](std::size_t bound) {
    return static_cast<std::size_t>(random_bits(seed, counter++) % std::max<std::size_t>(1, bound));
  };
  for (std::size_t edits = 1 + draw(8); edits > 0; --edits) {
    const std::size_t at = draw(text.size());
    switch (draw(5)) {
      case 0: text[at] = static_cast<char>(draw(256)); break;
      case 1: text.insert(at, kPieces[draw(std::size(kPieces))]); break;
      case 2: text.erase(at, 1 + draw(40)); break;
      case 3: text.insert(at, text.substr(draw(text.size()), draw(200))); break;
      default: text.insert(at, std::string(1 + draw(80), kPieces[draw(14)][0])); break;
    }
    if (text.empty()) text = "a";
  }
  return text;
}

TEST(YamlMutation, FiveThousandBrokenFilesAreJudgedWithoutHarm) {
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    const std::string text = mutate(seed);
    const TimePoint start = system_clock().now();
    const ModelServingFile file = model_serving_from_yaml(text, "x.yaml");
    const double seconds = std::chrono::duration<double>(system_clock().now() - start).count();
    ASSERT_LT(seconds, 1.0) << "seed " << seed;
    ASSERT_NE(file.serving.has_value(), !file.problems.empty()) << "seed " << seed;
    for (const PlacedProblem& problem : file.problems) {
      ASSERT_FALSE(problem.problem.message.empty()) << "seed " << seed;
      ASSERT_LT(problem.to_string().size(), 2500u) << "seed " << seed;
    }
    accepted += file.ok() ? 1 : 0;
  }
  EXPECT_GT(accepted, 10) << "edits in free text leave the file valid";
  EXPECT_LT(accepted, 2500);
}

}  // namespace
}  // namespace kantha::serving
