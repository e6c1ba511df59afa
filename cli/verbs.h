#pragma once

#include <functional>
#include <string>

#include <CLI/App.hpp>

/// The verbs of `kantha`. Each add_… puts one subcommand into the command line; when it is chosen,
/// `chosen` becomes what to run, which gives the exit status. Main thread.
///
/// Exit status: 0 done, 1 failed, 2 usage or an invalid file.
namespace kantha::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

using Verb = std::function<int()>;

void add_up(CLI::App& app, Verb& chosen);
void add_get(CLI::App& app, Verb& chosen);
void add_explain(CLI::App& app, Verb& chosen);
void add_scale(CLI::App& app, Verb& chosen);
void add_rollout(CLI::App& app, Verb& chosen);
void add_chat(CLI::App& app, Verb& chosen);
void add_key(CLI::App& app, Verb& chosen);
void add_model(CLI::App& app, Verb& chosen);
void add_model_render(CLI::App& model_verb, Verb& chosen);
void add_sim(CLI::App& app, Verb& chosen);
void add_bench(CLI::App& app, Verb& chosen);
void add_version(CLI::App& app, Verb& chosen);

/// Prints "kantha VERB: message" to stderr and gives kExitFailed.
int fail(const char* verb, const std::string& message);

}  // namespace kantha::cli
