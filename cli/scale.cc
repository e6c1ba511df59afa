#include <cstdio>
#include <memory>
#include <string>

#include "cli/control_client.h"
#include "cli/verbs.h"
#include "operator/local/local_rules.h"

namespace kantha::cli {
namespace {

struct ScaleOptions {
  std::string name;
  std::int64_t replicas = 0;
};

int run_scale(const ScaleOptions& options) {
  const std::string name = plain_name(options.name);
  const Status done = scale_world(name, options.replicas);
  if (!done.ok()) return fail("scale", done.error().message);
  std::printf("modelserving/%s scaled to %lld\n", name.c_str(),
              static_cast<long long>(options.replicas));
  return kExitDone;
}

}  // namespace

void add_scale(CLI::App& app, Verb& chosen) {
  auto options = std::make_shared<ScaleOptions>();
  CLI::App* verb = app.add_subcommand("scale", "Set the number of pods of a running ModelServing");
  verb->add_option("NAME", options->name, "NAME or kms/NAME")->required();
  verb->add_option("--replicas", options->replicas,
                   "Pods wanted; holds until the file's own number changes")
      ->required()
      ->check(CLI::Range(std::int64_t{0}, local::kLocalReplicasMax));
  verb->callback([options, &chosen] { chosen = [options] { return run_scale(*options); }; });
}

}  // namespace kantha::cli
