#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "operator/serving/model_serving_from_yaml.h"

namespace kantha::serving {
namespace {

std::filesystem::path examples() {
  const char* root = std::getenv("KANTHA_SOURCE_DIR");
  return std::filesystem::path(root == nullptr ? "." : root) / "examples";
}

/// Others are objects of KEDA and the like: tests/e2e/prometheus_test.py has them.
bool is_model_serving(const std::filesystem::path& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line == "kind: ModelServing") return true;
  }
  return false;
}

TEST(ExampleFiles, EachModelServingIsValid) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(examples())) {
    if (!is_model_serving(entry.path())) continue;
    ++count;
    const ModelServingFile file = read_model_serving_file(entry.path().string());
    EXPECT_TRUE(file.ok()) << file.problem_text();
  }
  EXPECT_GE(count, 2);
}

TEST(ExampleFiles, TheQuickStartServesTheModelThatIsFetched) {
  const ModelServingFile file = read_model_serving_file((examples() / "smollm2.yaml").string());
  ASSERT_TRUE(file.ok()) << file.problem_text();
  EXPECT_EQ(file.serving->metadata.name, "smollm2");
  EXPECT_EQ(file.serving->served_name(), "smollm2-135m-instruct");
  EXPECT_EQ(file.serving->spec.model.source.host_path, "SmolLM2-135M-Instruct.Q4_1.gguf");
}

}  // namespace
}  // namespace kantha::serving
