#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "noded/models/weight_fetch.h"

namespace CLI {
class App;
}

/// The flags of kantha-noded about weights that it is to bring.
namespace kantha::noded {

/// As given on the command line.
struct WeightFlags {
  std::vector<std::string> urls;
  std::string sha256;
  std::int64_t bytes = 0;
  std::string cache;
  std::int64_t quota_bytes = 0;
  std::string ca_file;
};
void add_weight_flags(CLI::App& app, WeightFlags& flags);

struct WeightOptions {
  FetchSpec spec;
  FetchSettings settings;
};

/// What the flags ask for; nullopt without --model-url. kInvalidArgument names the flag, or the
/// proxy variable of the environment.
Result<std::optional<WeightOptions>> weight_options(const WeightFlags& flags,
                                                    const Environment& environment);

}  // namespace kantha::noded
