#include "engine/serve/command_line.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/version.h"

namespace kantha::serve {
namespace {

/// A flag whose value goes to one place of the configuration document.
template <class T>
void add_flag(CLI::App& app, Json& document, const char* flag, const char* pointer,
              const char* help) {
  app.add_option_function<T>(
         flag,
         [&document, pointer](const T& value) { document[Json::json_pointer(pointer)] = value; },
         help)
      ->group("Configuration (the file's key)");
}

void add_flags(CLI::App& app, Json& document) {
  using Text = std::string;
  using Whole = std::int64_t;
  add_flag<Text>(app, document, "--model,-m", "/model/path", "GGUF file (model.path)");
  add_flag<Text>(app, document, "--served-model-name", "/model/name",
                 "id in the API (model.name); default: the model's own");
  add_flag<std::vector<Text>>(app, document, "--listen", "/listen",
                              "host:port or unix:/path, repeatable (listen); "
                              "default 127.0.0.1:8000");
  add_flag<Whole>(app, document, "--max-model-len", "/engine/maxModelLen",
                  "tokens of prompt and output (engine.maxModelLen); "
                  "default min(model's context, 8192)");
  add_flag<Whole>(app, document, "--max-num-seqs", "/engine/maxNumSeqs",
                  "requests running at once (engine.maxNumSeqs); default 64");
  add_flag<Whole>(app, document, "--block-size", "/engine/blockSize",
                  "tokens per KV block (engine.blockSize); default 16");
  add_flag<Text>(app, document, "--kv-cache-memory", "/engine/kvCacheMemory",
                 "size of the KV pool, like 512Mi (engine.kvCacheMemory); default: what "
                 "maxNumSeqs needs, at most a quarter of the memory");
  add_flag<Whole>(app, document, "--threads", "/engine/threads",
                  "compute threads (engine.threads); default: what the cgroup gives");
  add_flag<bool>(app, document, "--prefix-caching", "/engine/prefixCaching",
                 "true or false (engine.prefixCaching); default true");
  add_flag<Whole>(app, document, "--step-tokens-max", "/engine/stepTokensMax",
                  "tokens computed in one step (engine.stepTokensMax)");
  add_flag<Whole>(app, document, "--max-queued-requests", "/engine/maxQueuedRequests",
                  "waiting requests before 429 (engine.maxQueuedRequests); default 1024");
  add_flag<Whole>(app, document, "--max-queued-tokens", "/engine/maxQueuedTokens",
                  "waiting prompt tokens before 429 (engine.maxQueuedTokens); default: what can be "
                  "prefilled within the TTFT target");
  add_flag<Whole>(app, document, "--ttft-target-ms", "/engine/ttftTargetMs",
                  "longest wait for a first token that the queue may cause "
                  "(engine.ttftTargetMs); default 30000");
  add_flag<Whole>(app, document, "--itl-target-ms", "/engine/itlTargetMs",
                  "longest pause between tokens that other prompts may cause "
                  "(engine.itlTargetMs); default: from measured steps");
  add_flag<Text>(app, document, "--tool-parser", "/engine/toolParser",
                 "how the model writes tool calls: auto, hermes, llama3_json, mistral, pythonic, "
                 "deepseek_v3, qwen3_coder or none (engine.toolParser); default auto: by its chat "
                 "template");
  add_flag<Text>(app, document, "--reasoning-parser", "/engine/reasoningParser",
                 "how it marks its reasoning: auto, think, deepseek_r1, mistral, seed_oss, kimi or "
                 "none (engine.reasoningParser); default auto");
  add_flag<Text>(app, document, "--backend", "/engine/backend",
                 "cpu or ref (engine.backend); default cpu");
  add_flag<Whole>(app, document, "--drain-timeout", "/drain/timeoutSeconds",
                  "seconds that running requests get after SIGTERM (drain.timeoutSeconds); "
                  "default 30");
  add_flag<double>(app, document, "--keep-alive", "/http/keepAliveSeconds",
                   "seconds of silence in a stream before a comment (http.keepAliveSeconds); "
                   "default 5");
  add_flag<Text>(app, document, "--admin-token-file", "/admin/tokenFile",
                 "file with the bearer token of /admin on TCP (admin.tokenFile)");
  add_flag<Text>(app, document, "--log-level", "/log/level",
                 "debug, info, warn or error (log.level); default info");
}

/// Being a parent, and being its child.
struct Supervision {
  bool wanted = false;
  std::int64_t grace_ms = 3000;
  std::int64_t restarts = 0;
  std::string last_end;
};

constexpr const char* kGraceFlag = "--endpoint-grace-ms";

void add_supervision(CLI::App& app, Supervision& supervision) {
  app.add_flag("--supervise", supervision.wanted,
               "keep an engine running: wait for --config, start again after a crash, and with a "
               "new process when the file changes; the other flags are the engine's");
  app.add_option(kGraceFlag, supervision.grace_ms,
                 "with --supervise: how long a front door in the same pod takes new requests after "
                 "SIGTERM; the engine takes them a second longer")
      ->check(CLI::Range(0, 3'600'000))
      ->capture_default_str();
  app.add_option("--restarts", supervision.restarts, "starts before this one, for the state page")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--last-end", supervision.last_end, "how that one ended, for the state page")
      ->check(CLI::IsMember({"none", "crashed", "was_ended"}));
}

/// The arguments without those of the parent itself.
std::vector<std::string> engine_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == kGraceFlag) ++i;
    if (argument == kGraceFlag || argument == "--supervise" ||
        argument.starts_with(std::string(kGraceFlag) + "=")) {
      continue;
    }
    rest.push_back(argument);
  }
  return rest;
}

/// What an engine with these arguments would say to the file as it is now.
Result<ParentFacts> check_for_parent(const std::vector<std::string>& arguments) {
  TRY(const CommandLine line, read_command_line(arguments));
  const EngineConfig& config = line.config;
  if (::access(config.model_path.c_str(), R_OK) != 0) {
    return not_found("model.path: " + config.model_path + " cannot be read");
  }
  ParentFacts facts;
  facts.drain_timeout = std::chrono::seconds(config.drain_timeout_s);
  const net::Endpoint& first = config.listen.front();
  if (first.is_unix() || first.port != 0) facts.endpoint = first;
  return facts;
}

/// Our own program, by its name where it still has one.
std::string own_program() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return !error && std::filesystem::exists(path, error) ? path.string() : "/proc/self/exe";
}

Result<ParentOptions> parent_options(const std::vector<std::string>& arguments,
                                     const std::string& config_path,
                                     const Supervision& supervision) {
  if (config_path.empty()) return invalid_argument("--supervise: needs --config");
  ParentOptions options;
  options.binary = own_program();
  options.config_path = config_path;
  options.arguments = engine_arguments(arguments);
  constexpr Duration kLonger = std::chrono::seconds(1);
  options.policy.leave_grace = std::chrono::milliseconds(supervision.grace_ms) + kLonger;
  options.check = [rest = options.arguments] { return check_for_parent(rest); };
  return options;
}

}  // namespace

Result<CommandLine> read_command_line(const std::vector<std::string>& arguments) {
  CLI::App app("Serves one language model over OpenAI's HTTP API.", "kantha-engine");
  app.get_formatter()->column_width(32);
  std::string config_path;
  bool show_version = false;
  Json overrides = Json::object();
  app.add_option("--config", config_path, "JSON file; flags win over it");
  app.add_flag("--version", show_version, "print the version and exit");
  add_flags(app, overrides);
  Supervision supervision;
  add_supervision(app, supervision);
  CommandLine line;
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    line.print = app.help() +
                 "\nExit status: 0 after a drain, 2 for a faulty configuration, 3 for a model "
                 "that cannot be served; with --supervise 1 when the engine keeps ending.\n";
    return line;
  } catch (const CLI::Error& error) {
    return invalid_argument(std::string(error.what()) + " (--help lists the flags)");
  }
  if (show_version) {
    line.print = "kantha-engine " + std::string(version()) + "\n";
    return line;
  }
  if (supervision.wanted) {
    TRY(line.parent, parent_options(arguments, config_path, supervision));
    return line;
  }
  TRY(line.config, load_engine_config(config_path, overrides));
  line.config.restarts = supervision.restarts;
  line.config.last_end = std::move(supervision.last_end);
  return line;
}

}  // namespace kantha::serve
