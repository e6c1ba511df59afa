#include "tests/engine/text/fuzz_targets.h"
#include "tests/fuzz/fuzzer.h"

namespace kantha::fuzz {

void run(std::string_view input) { text::fuzz_tokenizer(input); }

std::vector<std::string> seeds() { return text::text_corpus(); }

}  // namespace kantha::fuzz
