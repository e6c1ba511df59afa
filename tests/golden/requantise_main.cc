#include <cstdio>

#include "engine/model/model_file.h"
#include "tests/golden/requantise.h"

/// kantha-fake-requantise MODEL MIXTURE OUT: the files that generate.py makes smollm2_MIXTURE.json
/// from.
int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: kantha-fake-requantise MODEL MIXTURE OUT; mixtures:");
    for (const auto name : kantha::golden::mixtures()) {
      std::fprintf(stderr, " %.*s", static_cast<int>(name.size()), name.data());
    }
    std::fprintf(stderr, "\n");
    return 2;
  }
  const auto file = kantha::model::ModelFile::open(argv[1]);
  if (!file.ok()) {
    std::fprintf(stderr, "%s\n", file.error().to_string().c_str());
    return 1;
  }
  kantha::fake::write_file(argv[3], kantha::golden::requantise((*file)->bytes(), argv[2]));
  return 0;
}
