#include "engine/serve/engine_config.h"

#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "base/json_fields.h"
#include "base/log.h"
#include "engine/dialect/syntax.h"
#include "engine/serve/byte_size.h"

namespace kantha::serve {
namespace {

constexpr std::size_t kFileBytesMax = 1u << 20;
constexpr std::size_t kEndpointsMax = 16;

template <class T, class U>
void assign(T& target, const std::optional<U>& value) {
  if (value) target = static_cast<T>(*value);
}

Status read_model(const JsonFields& root, EngineConfig& config) {
  TRY(const auto model, root.object("model"));
  std::optional<std::string> path;
  if (model) {
    TRY_OK(model->check_known({"path", "name"}));
    TRY(path, model->string("path"));
    TRY(const auto name, model->string("name"));
    assign(config.model_name, name);
  }
  if (!path || path->empty()) return invalid_argument("model.path: required", "model.path");
  config.model_path = *path;
  return ok_status();
}

Status read_kv_memory(const JsonFields& engine, EngineConfig& config) {
  const Json* value = engine.find("kvCacheMemory");
  if (value == nullptr) return ok_status();
  const std::string path = engine.path_of("kvCacheMemory");
  if (!value->is_string()) {
    TRY(const auto bytes, engine.integer("kvCacheMemory", 1, std::int64_t{1} << 50));
    assign(config.kv_bytes, bytes);
    return ok_status();
  }
  auto bytes = parse_byte_size(value->get_ref<const std::string&>());
  if (!bytes.ok()) return invalid_argument(path + ": " + bytes.error().message, path);
  config.kv_bytes = *bytes;
  return ok_status();
}

Status read_sizes(const JsonFields& engine, EngineConfig& config) {
  TRY(const auto context, engine.integer("maxModelLen", 2, 1 << 20));
  assign(config.context_max, context);
  TRY(const auto sequences, engine.integer("maxNumSeqs", 1, 4096));
  assign(config.sequences_max, sequences);
  TRY(const auto block, engine.integer("blockSize", 1, 256));
  assign(config.block_size, block);
  TRY(const auto threads, engine.integer("threads", 0, 1024));
  assign(config.threads, threads);
  TRY(const auto step, engine.integer("stepTokensMax", 1, 1 << 16));
  assign(config.step_tokens_max, step);
  TRY(const auto requests, engine.integer("maxQueuedRequests", 1, 1'000'000));
  assign(config.requests_queued_max, requests);
  TRY(const auto tokens, engine.integer("maxQueuedTokens", 0, std::int64_t{1} << 40));
  assign(config.prompt_tokens_queued_max, tokens);
  TRY(const auto ttft, engine.integer("ttftTargetMs", 100, 3'600'000));
  assign(config.ttft_target_ms, ttft);
  TRY(const auto itl, engine.integer("itlTargetMs", 0, 60'000));
  assign(config.itl_target_ms, itl);
  if (config.step_tokens_max != 0 && config.step_tokens_max < config.sequences_max) {
    const std::string path = engine.path_of("stepTokensMax");
    return invalid_argument(path + ": expected at least maxNumSeqs (" +
                                std::to_string(config.sequences_max) + "), got " +
                                std::to_string(config.step_tokens_max),
                            path);
  }
  return ok_status();
}

/// Keys of the accelerator path: accepted where they ask for what this build does anyway.
Status read_accelerator(const JsonFields& engine) {
  if (auto utilization = engine.number("gpuMemoryUtilization", 0.01, 1); !utilization.ok()) {
    return std::move(utilization).error();
  }
  TRY(const auto dtype, engine.string("kvCacheDtype"));
  if (!dtype || *dtype == "auto") return ok_status();
  const std::string path = engine.path_of("kvCacheDtype");
  return unimplemented(path + ": expected \"auto\", got \"" + *dtype + "\"", path);
}

/// How the model's calls and reasoning are read.
Status read_parsers(const JsonFields& engine, EngineConfig& config) {
  TRY(const auto tools, engine.string("toolParser"));
  assign(config.tool_parser, tools);
  TRY(const auto reasoning, engine.string("reasoningParser"));
  assign(config.reasoning_parser, reasoning);
  if (config.tool_parser != "auto") {
    const auto known = dialect::tool_syntax_named(config.tool_parser);
    const std::string path = engine.path_of("toolParser");
    if (!known.ok()) return invalid_argument(path + ": " + known.error().message, path);
  }
  if (config.reasoning_parser != "auto") {
    const auto known = dialect::reasoning_syntax_named(config.reasoning_parser);
    const std::string path = engine.path_of("reasoningParser");
    if (!known.ok()) return invalid_argument(path + ": " + known.error().message, path);
  }
  return ok_status();
}

Status read_engine(const JsonFields& root, EngineConfig& config) {
  TRY(const auto engine, root.object("engine"));
  if (!engine) return ok_status();
  TRY_OK(engine->check_known(
      {"maxModelLen", "maxNumSeqs", "blockSize", "kvCacheMemory", "threads", "prefixCaching",
       "stepTokensMax", "maxQueuedRequests", "maxQueuedTokens", "ttftTargetMs", "itlTargetMs",
       "backend", "kvCacheDtype", "gpuMemoryUtilization", "toolParser", "reasoningParser"}));
  TRY_OK(read_sizes(*engine, config));
  TRY_OK(read_kv_memory(*engine, config));
  TRY_OK(read_accelerator(*engine));
  TRY_OK(read_parsers(*engine, config));
  TRY(const auto prefix_caching, engine->boolean("prefixCaching"));
  assign(config.prefix_caching, prefix_caching);
  TRY(const auto backend, engine->string("backend"));
  if (!backend || *backend == "cpu") return ok_status();
  config.backend = Backend::kRef;
  if (*backend == "ref") return ok_status();
  const std::string path = engine->path_of("backend");
  return invalid_argument(path + ": expected cpu or ref, got \"" + *backend + "\"", path);
}

Status read_listen(const JsonFields& root, EngineConfig& config) {
  TRY(const auto texts, root.strings("listen", kEndpointsMax));
  const std::vector<std::string> endpoints =
      texts.value_or(std::vector<std::string>{"127.0.0.1:8000"});
  if (endpoints.empty()) {
    return invalid_argument("listen: expected at least one endpoint, got none", "listen");
  }
  for (const std::string& text : endpoints) {
    auto endpoint = net::parse_endpoint(text);
    if (!endpoint.ok()) {
      const std::string path = "listen[" + std::to_string(config.listen.size()) + "]";
      return invalid_argument(path + ": " + endpoint.error().message, path);
    }
    config.listen.push_back(std::move(endpoint).value());
  }
  return ok_status();
}

Status read_drain(const JsonFields& root, EngineConfig& config) {
  TRY(const auto drain, root.object("drain"));
  if (!drain) return ok_status();
  TRY_OK(drain->check_known({"timeoutSeconds"}));
  TRY(const auto seconds, drain->integer("timeoutSeconds", 0, 86'400));
  assign(config.drain_timeout_s, seconds);
  return ok_status();
}

Status read_http(const JsonFields& root, EngineConfig& config) {
  TRY(const auto http, root.object("http"));
  if (!http) return ok_status();
  TRY_OK(http->check_known({"keepAliveSeconds"}));
  TRY(const auto seconds, http->number("keepAliveSeconds", 0.01, 3600));
  assign(config.keepalive_s, seconds);
  return ok_status();
}

Status read_admin(const JsonFields& root, EngineConfig& config) {
  TRY(const auto admin, root.object("admin"));
  if (!admin) return ok_status();
  TRY_OK(admin->check_known({"tokenFile"}));
  TRY(const auto path, admin->string("tokenFile"));
  assign(config.admin_token_path, path);
  return ok_status();
}

Status read_log(const JsonFields& root, EngineConfig& config) {
  TRY(const auto log, root.object("log"));
  if (!log) return ok_status();
  TRY_OK(log->check_known({"level"}));
  TRY(const auto level, log->string("level"));
  assign(config.log_level, level);
  LogLevel parsed{};
  if (parse_log_level(config.log_level, parsed)) return ok_status();
  return invalid_argument(
      "log.level: expected debug, info, warn or error, got \"" + config.log_level + "\"",
      "log.level");
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return not_found(path + ": cannot be opened");
  std::string text;
  text.resize(kFileBytesMax + 1);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() <= kFileBytesMax) return text;
  return invalid_argument(path + ": larger than 1 MiB");
}

}  // namespace

Result<EngineConfig> read_engine_config(const Json& document) {
  const JsonFields root(document, "");
  TRY_OK(root.check_object());
  TRY_OK(root.check_known({"model", "engine", "listen", "drain", "http", "admin", "log"}));
  EngineConfig config;
  TRY_OK(read_model(root, config));
  TRY_OK(read_engine(root, config));
  TRY_OK(read_listen(root, config));
  TRY_OK(read_drain(root, config));
  TRY_OK(read_http(root, config));
  TRY_OK(read_admin(root, config));
  TRY_OK(read_log(root, config));
  config.hash = sha256_hex(dump_json(document));
  return config;
}

Result<EngineConfig> load_engine_config(const std::string& path, const Json& overrides) {
  std::string text = "{}";
  Json document = Json::object();
  if (!path.empty()) {
    TRY(text, read_file(path));
    auto parsed = parse_json(text);
    if (!parsed.ok()) return std::move(parsed).error().with_context(path);
    document = std::move(parsed).value();
  }
  Json changes = overrides;
  changes.erase("listen");  // where it is reached is not what it runs
  const bool changed = path.empty() || !changes.empty();
  if (document.is_object()) document.merge_patch(overrides);
  auto config = read_engine_config(document);
  if (!config.ok()) {
    return std::move(config).error().with_context(path.empty() ? "configuration" : path);
  }
  if (!changed) config->hash = sha256_hex(text);
  return config;
}

}  // namespace kantha::serve
