#include "tests/fuzz/fuzzer.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>

/// Writes the seeds into the first folder that is named, where libFuzzer reads and adds inputs.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) {
    const std::filesystem::path path((*argv)[i]);
    if (path.native().starts_with("-") || !std::filesystem::is_directory(path)) continue;
    int count = 0;
    for (const std::string& seed : kantha::fuzz::seeds()) {
      std::ofstream(path / fmt::format("seed-{:03}", count++), std::ios::binary) << seed;
    }
    break;
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kantha::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
