#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/engine/grammar/fuzz_targets.h"

// Seeded mutants of right input through the fuzz targets, so that every build has some of them.
namespace kantha::grammar {
namespace {

using Random = std::mt19937_64;

/// Takes one part of the document and puts it where another one was.
void move_part(Json& document, Random& random) {
  std::vector<Json*> parts;
  const auto collect = [&](const auto& self, Json& json) -> void {
    parts.push_back(&json);
    for (Json& part : json) {
      if (json.is_structured()) self(self, part);
    }
  };
  collect(collect, document);
  const Json from = *parts[random() % parts.size()];
  *parts[random() % parts.size()] = from;
}

std::string with_changed_bytes(std::string text, Random& random, std::string_view alphabet) {
  for (std::size_t i = 0; i <= random() % 3 && !text.empty(); ++i) {
    const std::size_t at = random() % text.size();
    const char byte = alphabet[random() % alphabet.size()];
    switch (random() % 3) {
      case 0: text.erase(at, 1 + random() % 3); break;
      case 1: text.insert(at, 1, byte); break;
      default: text[at] = byte; break;
    }
  }
  return text;
}

TEST(Mutants, SchemasAreTakenOrRefused) {
  const std::vector<std::string> schemas = schema_corpus();
  Random random(1);
  for (int i = 0; i < 1500; ++i) {
    Json document = Json::parse(schemas[random() % schemas.size()]);
    for (std::size_t k = 0; k <= random() % 3; ++k) move_part(document, random);
    fuzz_schema(document.dump());
    fuzz_schema(with_changed_bytes(schemas[random() % schemas.size()], random, "{}[]\",:0a-"));
  }
}

TEST(Mutants, RegexesAreTakenOrRefused) {
  const std::vector<std::string> seeds = regex_corpus();
  Random random(2);
  for (int i = 0; i < 6000; ++i) {
    fuzz_regex(
        with_changed_bytes(seeds[random() % seeds.size()], random, "()[]{}*+?|^$\\.-,19adwb"));
  }
}

TEST(Mutants, GrammarsAreTakenOrRefused) {
  const std::vector<std::string> seeds = gbnf_corpus();
  Random random(3);
  for (int i = 0; i < 6000; ++i) {
    fuzz_gbnf(
        with_changed_bytes(seeds[random() % seeds.size()], random, "()[]{}*+?|\"\\.:= \n#ab,2"));
  }
}

}  // namespace
}  // namespace kantha::grammar
