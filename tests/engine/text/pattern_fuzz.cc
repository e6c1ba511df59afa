#include <utility>

#include "tests/engine/text/fuzz_targets.h"
#include "tests/fuzz/fuzzer.h"

namespace kantha::fuzz {

void run(std::string_view input) {
  text::fuzz_pattern(input);
  text::fuzz_character_map(input);
}

std::vector<std::string> seeds() {
  std::vector<std::string> all = text::pattern_corpus();
  for (std::string& map : text::character_map_corpus()) all.push_back(std::move(map));
  return all;
}

}  // namespace kantha::fuzz
