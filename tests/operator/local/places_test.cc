#include "operator/local/places.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace kantha::local {
namespace {

namespace fs = std::filesystem;

Environment environment(std::map<std::string, std::string> values) {
  return [values](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(Places, FollowXdg) {
  const auto home = find_places(environment({{"HOME", "/h"}}));
  ASSERT_TRUE(home.ok());
  EXPECT_EQ(home->run_root, "/h/.cache/kantha/run");
  EXPECT_EQ(home->model_cache, "/h/.cache/kantha/models");
  EXPECT_FALSE(home->bin_dir.empty());
  const auto xdg = find_places(environment({{"HOME", "/h"},
                                            {"XDG_CACHE_HOME", "/c"},
                                            {"XDG_RUNTIME_DIR", "/r"},
                                            {"KANTHA_BIN_DIR", "/b"}}));
  EXPECT_EQ(xdg->run_root, "/r/kantha");
  EXPECT_EQ(xdg->model_cache, "/c/kantha/models");
  EXPECT_EQ(xdg->bin_dir, "/b");
  EXPECT_EQ(find_places(environment({{"HOME", "/h"}, {"XDG_CACHE_HOME", "relative"}}))->model_cache,
            "/h/.cache/kantha/models");
  EXPECT_FALSE(find_places(environment({})).ok());
}

TEST(FindModel, LooksBesideTheFileThenInTheCache) {
  const fs::path root = fs::temp_directory_path() / ("kantha-places-" + std::to_string(getpid()));
  fs::create_directories(root / "yaml");
  fs::create_directories(root / "models");
  Places places;
  places.model_cache = (root / "models").string();
  const std::string yaml = (root / "yaml" / "x.yaml").string();
  const auto missing = find_model("m.gguf", yaml, places);
  ASSERT_FALSE(missing.ok());
  for (const std::string& part :
       {(root / "yaml" / "m.gguf").string(), (root / "models" / "m.gguf").string(),
        std::string("scripts/fetch-model")}) {
    EXPECT_NE(missing.error().message.find(part), std::string::npos) << missing.error().message;
  }
  std::ofstream(root / "models" / "m.gguf") << "x";
  EXPECT_EQ(*find_model("m.gguf", yaml, places), (root / "models" / "m.gguf").string());
  std::ofstream(root / "yaml" / "m.gguf") << "x";
  EXPECT_EQ(*find_model("m.gguf", yaml, places), (root / "yaml" / "m.gguf").string());
  EXPECT_EQ(*find_model((root / "models/m.gguf").string(), yaml, places),
            (root / "models/m.gguf").string());
  EXPECT_FALSE(find_model("/absent/m.gguf", yaml, places).ok());
  fs::remove_all(root);
}

TEST(FindApiKeys, AreInAFolderOfTheSecretsNameBesideTheFile) {
  const fs::path root = fs::temp_directory_path() / ("kantha-secret-" + std::to_string(getpid()));
  fs::create_directories(root / "blue-keys");
  const std::string yaml = (root / "x.yaml").string();
  EXPECT_EQ(*find_api_keys("", yaml), "");
  const auto missing = find_api_keys("blue-keys", yaml);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find((root / "blue-keys/keys.json").string()),
            std::string::npos);
  EXPECT_EQ(missing.error().field, "spec.gateway.authSecret");
  std::ofstream(root / "blue-keys" / "keys.json") << "{}";
  EXPECT_EQ(*find_api_keys("blue-keys", yaml), (root / "blue-keys/keys.json").string());
  fs::remove_all(root);
}

}  // namespace
}  // namespace kantha::local
