#include "tests/engine/text/fuzz_targets.h"
#include "tests/fuzz/fuzzer.h"

namespace kantha::fuzz {

void run(std::string_view input) { text::fuzz_template(input); }

std::vector<std::string> seeds() { return text::template_corpus(); }

}  // namespace kantha::fuzz
