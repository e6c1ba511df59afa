#include "tests/engine/model/fuzz_targets.h"
#include "tests/fuzz/fuzzer.h"

namespace kantha::fuzz {

void run(std::string_view input) { model::fuzz_config(input); }

std::vector<std::string> seeds() { return model::config_corpus(); }

}  // namespace kantha::fuzz
