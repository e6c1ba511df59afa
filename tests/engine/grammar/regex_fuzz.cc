#include "tests/engine/grammar/fuzz_targets.h"
#include "tests/fuzz/fuzzer.h"

namespace kantha::fuzz {

void run(std::string_view input) { grammar::fuzz_regex(input); }

std::vector<std::string> seeds() { return grammar::regex_corpus(); }

}  // namespace kantha::fuzz
