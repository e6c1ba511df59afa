#include "tests/engine/model/fuzz_targets.h"
#include "tests/fuzz/fuzzer.h"

namespace kantha::fuzz {

void run(std::string_view input) { model::fuzz_tokenizer_json(input); }

std::vector<std::string> seeds() { return model::tokenizer_json_corpus(); }

}  // namespace kantha::fuzz
