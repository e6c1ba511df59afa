#include "base/version.h"

#include <cstdio>
#include <string>

#include "cli/verbs.h"

namespace kantha::cli {

void add_version(CLI::App& app, Verb& chosen) {
  app.add_subcommand("version", "Print the version")->callback([&chosen] {
    chosen = [] {
      std::printf("kantha %s\n", std::string(version()).c_str());
      return kExitDone;
    };
  });
}

}  // namespace kantha::cli
