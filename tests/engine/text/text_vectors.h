#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/check.h"
#include "base/json.h"

/// The committed vectors beside these tests.
namespace kantha::text {

inline OrderedJson read_vectors(const std::string& name) {
  const char* root = std::getenv("KANTHA_SOURCE_DIR");
  std::ifstream file(std::string(root != nullptr ? root : ".") + "/tests/engine/text/" + name);
  CHECK(file.good(), "the vectors are in the source tree (KANTHA_SOURCE_DIR)");
  return OrderedJson::parse(file);
}

}  // namespace kantha::text
