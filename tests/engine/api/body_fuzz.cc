#include "tests/engine/api/fuzz_targets.h"
#include "tests/fuzz/fuzzer.h"

namespace kantha::fuzz {

void run(std::string_view input) { api::fuzz_body(input); }

std::vector<std::string> seeds() { return api::body_corpus(); }

}  // namespace kantha::fuzz
