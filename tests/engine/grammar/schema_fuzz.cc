#include "tests/engine/grammar/fuzz_targets.h"
#include "tests/fuzz/fuzzer.h"

namespace kantha::fuzz {

void run(std::string_view input) { grammar::fuzz_schema(input); }

std::vector<std::string> seeds() { return grammar::schema_corpus(); }

}  // namespace kantha::fuzz
