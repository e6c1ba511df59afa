#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/engine/text/fuzz_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kantha::text::fuzz_tokenizer({reinterpret_cast<const char*>(data), size});
  return 0;
}
