#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "base/json.h"

/// Documents that are compared byte for byte with files of golden/. KANTHA_REWRITE_GOLDEN=1 writes
/// the files anew; the diff is then for a person to read.
namespace kantha::serving {

/// Path of a file of the source tree.
inline std::string source_path(const std::string& path) {
  const char* root = std::getenv("KANTHA_SOURCE_DIR");
  return std::string(root == nullptr ? "." : root) + "/" + path;
}

inline std::string source_text(const std::string& path) {
  std::ifstream file(source_path(path));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::string golden_file(const std::string& name) {
  return "tests/operator/serving/golden/" + name + ".json";
}

inline std::string golden_text(const std::string& name) { return source_text(golden_file(name)); }

template <class J>
void expect_golden(const std::string& name, const J& document) {
  const std::string text = document.dump(1) + "\n";
  if (std::getenv("KANTHA_REWRITE_GOLDEN") != nullptr) {
    std::ofstream(source_path(golden_file(name))) << text;
    return;
  }
  EXPECT_EQ(text, golden_text(name)) << name << ": KANTHA_REWRITE_GOLDEN=1 writes it anew";
}

}  // namespace kantha::serving
