#pragma once

#include <cstdlib>
#include <utility>

#include "base/check.h"
#include "engine/model/load_model.h"
#include "engine/text/tokenizer.h"

/// The tokenizer of the test model's file; for tests with NEEDS_MODEL.
namespace kantha::text {

inline const Tokenizer& model_tokenizer() {
  static const Tokenizer tokenizer = [] {
    const char* path = std::getenv("KANTHA_TEST_MODEL");
    CHECK(path != nullptr, "KANTHA_TEST_MODEL names the test model");
    Result<model::LoadedModel> loaded = model::load_model(path);
    CHECK(loaded.ok(), "the test model loads; scripts/fetch-model brings it");
    Result<Tokenizer> built = Tokenizer::build(loaded.value().vocabulary);
    CHECK(built.ok(), "the test model has a tokenizer that we know");
    return std::move(built).value();
  }();
  return tokenizer;
}

}  // namespace kantha::text
