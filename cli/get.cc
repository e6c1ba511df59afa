#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/control_client.h"
#include "cli/pod_table.h"
#include "cli/verbs.h"
#include "operator/serving/types.h"

namespace kantha::cli {
namespace {

struct GetOptions {
  std::string name;
  std::string output = "table";
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

int run_get(const GetOptions& options) {
  std::vector<RunningWorld> worlds;
  if (options.name.empty()) {
    Result<std::vector<RunningWorld>> all = list_worlds();
    if (!all.ok()) return fail("get", all.error().message);
    worlds = std::move(all).value();
  } else {
    Result<RunningWorld> one = find_world(plain_name(options.name));
    if (!one.ok()) return fail("get", one.error().message);
    worlds.push_back(std::move(one).value());
  }
  if (options.output == "json") {
    print_json(worlds, !options.name.empty());
    return kExitDone;
  }
  if (worlds.empty()) {
    std::fprintf(stderr, "No ModelServing runs here; start one with kantha up -f FILE\n");
    return kExitDone;
  }
  std::vector<local::WorldView> views;
  for (const RunningWorld& world : worlds) views.push_back(world.view);
  std::fputs(world_table(views, options.output == "wide").c_str(), stdout);
  return kExitDone;
}

}  // namespace

void add_get(CLI::App& app, Verb& chosen) {
  auto options = std::make_shared<GetOptions>();
  CLI::App* verb = app.add_subcommand("get", "Show the ModelServings that run on this machine");
  verb->add_option("NAME", options->name, "One of them, as NAME or kms/NAME; default: all");
  verb->add_option("-o,--output", options->output, "table, wide or json")
      ->check(CLI::IsMember({"table", "wide", "json"}));
  verb->callback([options, &chosen] { chosen = [options] { return run_get(*options); }; });
}

}  // namespace kantha::cli
