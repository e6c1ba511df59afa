#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "cli/verbs.h"

namespace kantha::cli {
namespace {

std::string known_verbs(const CLI::App& app) {
  std::string out;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    out += (out.empty() ? "" : ", ") + verb->get_name();
  }
  return out;
}

/// The first word, when it names no verb.
std::string unknown_verb(const CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return {};
  const std::string word = argv[1];
  const auto same = [&](const CLI::App* verb) { return verb->get_name() == word; };
  return app.get_subcommands(same).empty() ? word : std::string();
}

int usage_error(const CLI::App& app, int argc, const char* const* argv, const std::string& what) {
  const std::string verb = unknown_verb(app, argc, argv);
  if (!verb.empty()) {
    std::fprintf(stderr, "kantha: unknown verb \"%s\"; known verbs: %s\n", verb.c_str(),
                 known_verbs(app).c_str());
  } else if (argc < 2) {
    std::fprintf(stderr, "kantha: expected a verb: %s\n", known_verbs(app).c_str());
  } else {
    std::fprintf(stderr, "kantha: %s; see kantha --help\n", what.c_str());
  }
  return kExitUsage;
}

int run(int argc, const char* const* argv) {
  CLI::App app{"kantha serves language models, on one machine and on Kubernetes", "kantha"};
  app.require_subcommand(1);
  Verb chosen;
  add_up(app, chosen);
  add_chat(app, chosen);
  add_bench(app, chosen);
  add_get(app, chosen);
  add_explain(app, chosen);
  add_scale(app, chosen);
  add_rollout(app, chosen);
  add_key(app, chosen);
  add_model(app, chosen);
  add_sim(app, chosen);
  add_version(app, chosen);
  app.add_flag_callback("--version", [&] { throw CLI::CallForVersion(); }, "Print the version");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion&) {
    CLI::App silent;
    add_version(silent, chosen);
    silent.parse("version");
  } catch (const CLI::ParseError& error) {
    return usage_error(app, argc, argv, error.what());
  }
  return chosen();
}

}  // namespace

int fail(const char* verb, const std::string& message) {
  std::fprintf(stderr, "kantha %s: %s\n", verb, message.c_str());
  return kExitFailed;
}

}  // namespace kantha::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  kantha::set_log_program("kantha");
  kantha::set_log_level(kantha::LogLevel::kWarn);
  return kantha::cli::run(argc, argv);
}
