#include "tests/engine/grammar/fuzz_targets.h"
#include "tests/fuzz/fuzzer.h"

namespace kantha::fuzz {

void run(std::string_view input) { grammar::fuzz_gbnf(input); }

std::vector<std::string> seeds() { return grammar::gbnf_corpus(); }

}  // namespace kantha::fuzz
