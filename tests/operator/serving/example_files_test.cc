#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "operator/serving/model_serving_from_yaml.h"

namespace kantha::serving {
namespace {

std::filesystem::path examples() {
  const char* root = std::getenv("KANTHA_SOURCE_DIR");
  return std::filesystem::path(root == nullptr ? "." : root) / "examples";
}

TEST(ExampleFiles, EachIsAValidModelServing) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(examples())) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    const ModelServingFile file = read_model_serving_file(entry.path().string());
    EXPECT_TRUE(file.ok()) << file.problem_text();
  }
  EXPECT_GT(count, 0);
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
