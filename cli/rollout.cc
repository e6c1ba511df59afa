#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "base/net/task.h"

#include <boost/asio/io_context.hpp>

#include "cli/blocking_task.h"
#include "cli/cluster_session.h"
#include "cli/control_client.h"
#include "cli/rollout_text.h"
#include "cli/screen.h"
#include "cli/verbs.h"

namespace kantha::cli {
namespace {

constexpr Duration kWatchEvery = std::chrono::seconds(1);

struct RolloutOptions {
  std::string name;
  bool watch = false;
  ClusterFlags cluster;
};

/// The object, and where it was found.
struct Found {
  Json object;
  std::unique_ptr<ClusterSession> session;  ///< null: a world of this machine
};

Result<Found> find_in_cluster(const RolloutOptions& options) {
  TRY(std::unique_ptr<ClusterSession> session, ClusterSession::open(options.cluster));
  TRY(ClusterReading reading, session->read(plain_name(options.name), false));
  return Found{std::move(reading.object), std::move(session)};
}

Result<Found> find_object(const RolloutOptions& options) {
  if (options.cluster.given()) return find_in_cluster(options);
  Result<RunningWorld> world = find_world(plain_name(options.name));
  if (world.ok()) return Found{std::move(world->object), nullptr};
  Result<Found> found = find_in_cluster(options);
  if (found.ok()) return found;
  return std::move(found).error().with_context(world.error().message);
}

net::Task<Result<bool>> pause_for(Duration pause) {
  co_await net::sleep_for(pause);
  co_return true;
}

/// Draws the rollout anew each second until it is over; elsewhere than on a terminal it prints what
/// changed.
int watch(const RolloutOptions& options) {
  boost::asio::io_context context(1);
  Screen screen(stdout, isatty(STDOUT_FILENO) != 0);
  std::string shown;
  while (true) {
    const Result<Found> found = find_object(options);
    if (!found.ok()) return fail("rollout status", found.error().message);
    std::string text = rollout_text(found->object, system_clock().wall_now());
    if (screen.live()) {
      screen.show(text);
    } else if (text != shown) {
      std::printf("%s\n", text.c_str());
      std::fflush(stdout);
    }
    shown = std::move(text);
    if (rollout_is_over(found->object)) return kExitDone;
    (void)run_blocking(context, pause_for(kWatchEvery));
  }
}

int run_status(const RolloutOptions& options) {
  if (options.watch) return watch(options);
  const Result<Found> found = find_object(options);
  if (!found.ok()) return fail("rollout status", found.error().message);
  std::fputs(rollout_text(found->object, system_clock().wall_now()).c_str(), stdout);
  return kExitDone;
}

int run_history(const RolloutOptions& options) {
  const Result<Found> found = find_object(options);
  if (!found.ok()) return fail("rollout history", found.error().message);
  std::fputs(rollout_history(found->object).c_str(), stdout);
  return kExitDone;
}

Status change(const RolloutOptions& options, RolloutVerb verb) {
  TRY(const Found found, find_object(options));
  const bool is_local = found.session == nullptr;
  TRY(const Json patch, rollout_patch(verb, found.object, is_local));
  const std::string name = plain_name(options.name);
  return is_local ? patch_world(name, patch) : found.session->patch(name, patch);
}

int run_change(const RolloutOptions& options, RolloutVerb verb, const std::string& word) {
  const Status done = change(options, verb);
  if (!done.ok()) return fail(("rollout " + word).c_str(), done.error().message);
  std::printf("modelserving/%s: %s is asked for\n", plain_name(options.name).c_str(), word.c_str());
  return kExitDone;
}

CLI::App* add_verb(CLI::App& parent, const char* word, const char* what,
                   const std::shared_ptr<RolloutOptions>& options) {
  CLI::App* verb = parent.add_subcommand(word, what);
  verb->add_option("NAME", options->name, "NAME or kms/NAME")->required();
  add_cluster_flags(*verb, options->cluster);
  return verb;
}

}  // namespace

void add_rollout(CLI::App& app, Verb& chosen) {
  CLI::App* rollout =
      app.add_subcommand("rollout", "Show how a new revision reaches the pods, and steer it");
  rollout->require_subcommand(1);
  auto options = std::make_shared<RolloutOptions>();
  CLI::App* status = add_verb(*rollout, "status", "Phase, rings, gates and why", options);
  status->add_flag("--watch", options->watch, "Until it is over");
  status->callback([options, &chosen] { chosen = [options] { return run_status(*options); }; });
  add_verb(*rollout, "history", "The revisions that are known", options)
      ->callback([options, &chosen] { chosen = [options] { return run_history(*options); }; });
  struct Change {
    const char* word;
    RolloutVerb verb;
    const char* what;
  };
  for (const Change& entry :
       {Change{"pause", RolloutVerb::kPause, "Keep every pod on its revision for now"},
        Change{"resume", RolloutVerb::kResume, "Go on after pause"},
        Change{"abort", RolloutVerb::kAbort, "Give the target up and go back"},
        Change{"promote", RolloutVerb::kPromote, "Let the ring at work pass without its gates"},
        Change{"skip", RolloutVerb::kSkip, "Let all rings pass without gates and windows"},
        Change{"undo", RolloutVerb::kUndo, "Abort, or go back to the revision before this one"}}) {
    add_verb(*rollout, entry.word, entry.what, options)->callback([options, &chosen, entry] {
      chosen = [options, entry] { return run_change(*options, entry.verb, entry.word); };
    });
  }
}

}  // namespace kantha::cli
