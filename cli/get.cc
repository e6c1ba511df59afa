#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/cluster_session.h"
#include "cli/cluster_view.h"
#include "cli/control_client.h"
#include "cli/pod_table.h"
#include "cli/verbs.h"
#include "operator/serving/types.h"

namespace kantha::cli {
namespace {

struct GetOptions {
  std::string name;
  std::string output = "table";
  ClusterFlags cluster;
};

void print_json(const std::vector<RunningWorld>& worlds, bool single) {
  Json out;
  if (single) {
    out = worlds.front().object;
  } else {
    Json items = Json::array();
    for (const RunningWorld& world : worlds) items.push_back(world.object);
    out = {{"apiVersion", serving::kApiVersion},
           {"kind", std::string(serving::kKind) + "List"},
           {"items", items}};
  }
  const std::string text = out.dump(2, ' ', false, Json::error_handler_t::replace);
  std::printf("%s\n", text.c_str());
}

int print_worlds(const GetOptions& options, const std::vector<RunningWorld>& worlds) {
  const bool single = !options.name.empty();
  if (options.output == "json") {
    print_json(worlds, single);
    return kExitDone;
  }
  std::vector<local::WorldView> views;
  for (const RunningWorld& world : worlds) views.push_back(world.view);
  const bool wide = options.output == "wide";
  std::fputs(world_table(views, wide).c_str(), stdout);
  if (single && !wide) std::printf("\n%s", pod_table(views.front()).c_str());
  return kExitDone;
}

Result<std::vector<RunningWorld>> read_cluster(ClusterSession& session, const GetOptions& options) {
  const WallTime now = system_clock().wall_now();
  std::vector<RunningWorld> out;
  if (!options.name.empty()) {
    TRY(ClusterReading reading, session.read(plain_name(options.name), false));
    TRY(local::WorldView view, cluster_world_view(reading.object, reading.pods, now));
    out.push_back({std::move(reading.object), std::move(view)});
    return out;
  }
  TRY(std::vector<Json> objects, session.list());
  for (Json& object : objects) {
    TRY(local::WorldView view, cluster_world_view(object, {}, now));
    // With several namespaces a name alone says too little.
    if (session.name_space().empty()) {
      view.name = object["metadata"].value("namespace", "") + "/" + view.name;
    }
    out.push_back({std::move(object), std::move(view)});
  }
  return out;
}

/// `tried`: what was looked for before, for the message.
int get_from_cluster(const GetOptions& options, const std::string& tried) {
  const Result<std::unique_ptr<ClusterSession>> session = ClusterSession::open(options.cluster);
  if (!session.ok()) return fail("get", tried + session.error().message);
  const auto worlds = read_cluster(**session, options);
  if (!worlds.ok()) return fail("get", tried + worlds.error().message);
  if (worlds->empty() && options.output != "json") {
    std::fprintf(stderr, "No ModelServing at %s\n", (*session)->description().c_str());
    return kExitDone;
  }
  return print_worlds(options, *worlds);
}

/// Everything: the worlds of this machine, else what the cluster has, if there is one.
int get_all(const GetOptions& options) {
  const Result<std::vector<RunningWorld>> all = list_worlds();
  if (!all.ok()) return fail("get", all.error().message);
  if (!all->empty()) return print_worlds(options, *all);
  if (ClusterSession::open(options.cluster).ok()) return get_from_cluster(options, "");
  if (options.output == "json") return print_worlds(options, *all);
  std::fprintf(stderr, "No ModelServing runs here; start one with kantha up -f FILE\n");
  return kExitDone;
}

int run_get(const GetOptions& options) {
  if (options.cluster.given()) return get_from_cluster(options, "");
  if (options.name.empty()) return get_all(options);
  const Result<RunningWorld> one = find_world(plain_name(options.name));
  if (one.ok()) return print_worlds(options, {*one});
  return get_from_cluster(options, one.error().message + "; ");
}

}  // namespace

void add_get(CLI::App& app, Verb& chosen) {
  auto options = std::make_shared<GetOptions>();
  CLI::App* verb =
      app.add_subcommand("get", "Show the ModelServings that run on this machine, or in a cluster");
  verb->add_option("NAME", options->name,
                   "One of them with its pods, as NAME or kms/NAME; default: all");
  verb->add_option("-o,--output", options->output, "table, wide or json")
      ->check(CLI::IsMember({"table", "wide", "json"}));
  add_cluster_flags(*verb, options->cluster, true);
  verb->callback([options, &chosen] { chosen = [options] { return run_get(*options); }; });
}

}  // namespace kantha::cli
