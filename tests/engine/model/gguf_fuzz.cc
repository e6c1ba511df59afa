#include <cstddef>
#include <cstring>

#include "tests/engine/model/fuzz_targets.h"
#include "tests/fuzz/fuzzer.h"

namespace kantha::fuzz {

/// The bytes as they are, so that the address sanitizer sees a step beyond them; and with something
/// behind, so that a header alone is a model.
void run(std::string_view input) {
  constexpr std::size_t kWeights = 384 << 10;
  std::vector<std::byte> file(input.size());
  if (!input.empty()) std::memcpy(file.data(), input.data(), input.size());
  if (model::fuzz_gguf(file)) return;
  file.resize(input.size() + kWeights, std::byte{0x3c});
  model::fuzz_gguf(file);
}

std::vector<std::string> seeds() { return model::gguf_corpus(); }

}  // namespace kantha::fuzz
