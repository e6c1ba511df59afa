#include <cstdio>
#include <memory>
#include <string>

#include "cli/cluster_session.h"
#include "cli/control_client.h"
#include "cli/verbs.h"
#include "operator/local/local_rules.h"

namespace kantha::cli {
namespace {

constexpr std::int64_t kClusterReplicasMax = 10'000;

struct ScaleOptions {
  std::string name;
  std::int64_t replicas = 0;
  ClusterFlags cluster;
};

Status scale_in_cluster(const ScaleOptions& options, const std::string& name) {
  TRY(const auto session, ClusterSession::open(options.cluster));
  return session->scale(name, options.replicas);
}

Status scale(const ScaleOptions& options, const std::string& name) {
  if (options.cluster.given()) return scale_in_cluster(options, name);
  const Result<RunningWorld> world = find_world(name);
  if (!world.ok()) {
    Status done = scale_in_cluster(options, name);
    if (done.ok()) return done;
    return std::move(done).error().with_context(world.error().message);
  }
  if (options.replicas > local::kLocalReplicasMax) {
    return invalid_argument("--replicas: a world of one machine has at most " +
                            std::to_string(local::kLocalReplicasMax) + " pods, got " +
                            std::to_string(options.replicas));
  }
  return scale_world(name, options.replicas);
}

int run_scale(const ScaleOptions& options) {
  const std::string name = plain_name(options.name);
  const Status done = scale(options, name);
  if (!done.ok()) return fail("scale", done.error().message);
  std::printf("modelserving/%s scaled to %lld\n", name.c_str(),
              static_cast<long long>(options.replicas));
  return kExitDone;
}

}  // namespace

void add_scale(CLI::App& app, Verb& chosen) {
  auto options = std::make_shared<ScaleOptions>();
  CLI::App* verb = app.add_subcommand("scale", "Set the number of pods of a ModelServing");
  verb->add_option("NAME", options->name, "NAME or kms/NAME")->required();
  verb->add_option("--replicas", options->replicas,
                   "Pods wanted; on this machine it holds until the file's own number changes")
      ->required()
      ->check(CLI::Range(std::int64_t{0}, kClusterReplicasMax));
  add_cluster_flags(*verb, options->cluster);
  verb->callback([options, &chosen] { chosen = [options] { return run_scale(*options); }; });
}

}  // namespace kantha::cli
