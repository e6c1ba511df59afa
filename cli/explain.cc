#include <cstdio>
#include <memory>
#include <string>

#include "base/clock.h"
#include "cli/cluster_session.h"
#include "cli/cluster_view.h"
#include "cli/control_client.h"
#include "cli/explain_text.h"
#include "cli/verbs.h"

namespace kantha::cli {
namespace {

struct ExplainOptions {
  std::string name;
  ClusterFlags cluster;
};

int explain_local(const RunningWorld& world) {
  std::fputs(explain_world(world.view).c_str(), stdout);
  return kExitDone;
}

int explain_cluster(const ExplainOptions& options, const std::string& name,
                    const std::string& tried) {
  const Result<std::unique_ptr<ClusterSession>> session = ClusterSession::open(options.cluster);
  if (!session.ok()) return fail("explain", tried + session.error().message);
  const Result<ClusterReading> reading = (*session)->read(name, true);
  if (!reading.ok()) return fail("explain", tried + reading.error().message);
  const serving::Moment at{system_clock().now(), system_clock().wall_now()};
  const auto view = cluster_world_view(reading->object, reading->pods, at.wall);
  if (!view.ok()) return fail("explain", view.error().to_string());
  const auto plan = cluster_plan_view(reading->object, reading->pods, at);
  if (!plan.ok()) return fail("explain", plan.error().to_string());
  const std::string text =
      explain_world(*view) + "\n" + explain_events(reading->events) + "\n" + explain_plan(*plan);
  std::fputs(text.c_str(), stdout);
  return kExitDone;
}

int run_explain(const ExplainOptions& options) {
  const std::string name = plain_name(options.name);
  if (options.cluster.given()) return explain_cluster(options, name, "");
  const Result<RunningWorld> world = find_world(name);
  if (world.ok()) return explain_local(*world);
  return explain_cluster(options, name, world.error().message + "; ");
}

}  // namespace

void add_explain(CLI::App& app, Verb& chosen) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* verb =
      app.add_subcommand("explain", "Say why a ModelServing is as it is, and what happens next");
  verb->add_option("NAME", options->name, "NAME or kms/NAME")->required();
  add_cluster_flags(*verb, options->cluster);
  verb->callback([options, &chosen] { chosen = [options] { return run_explain(*options); }; });
}

}  // namespace kantha::cli
