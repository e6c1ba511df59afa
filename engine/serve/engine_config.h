#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/net/http.h"
#include "base/result.h"

/// What one engine process runs: read from a JSON file, from flags, or both (flags win).
///
///   {"model": {"path": "/models/m.gguf", "name": "m"},
///    "engine": {"maxModelLen": 8192, "maxNumSeqs": 64, "blockSize": 16, "kvCacheMemory": "512Mi",
///    …}, "listen": ["127.0.0.1:8000", "unix:/run/engine.sock"], "drain": {"timeoutSeconds": 30},
///    "http": {"keepAliveSeconds": 5}, "admin": {"tokenFile": "/run/token"}, "log": {"level":
///    "info"}}
///
/// `engine` takes ModelServing's spec.engine.config as it is. Unknown keys are errors.
namespace kantha::serve {

enum class Backend { kCpu, kRef };

/// Values as configured; 0 or empty means "decide from the model and the machine" where it says so.
struct EngineConfig {
  std::string model_path;                   ///< model.path; required
  std::string model_name = {};              ///< model.name; empty: from the model file
  std::vector<net::Endpoint> listen;        ///< at least one; default 127.0.0.1:8000
  std::int32_t context_max = 0;             ///< engine.maxModelLen; 0: min(model's context, 8192)
  std::int32_t sequences_max = 64;          ///< engine.maxNumSeqs
  std::int32_t block_size = 16;             ///< engine.blockSize, tokens
  std::int64_t kv_bytes = 0;                ///< engine.kvCacheMemory; 0: kv_plan.h decides
  std::int32_t threads = 0;                 ///< engine.threads; 0: what the cgroup gives
  bool prefix_caching = true;               ///< engine.prefixCaching
  std::int32_t step_tokens_max = 0;         ///< engine.stepTokensMax; 0: max(256, maxNumSeqs)
  std::int32_t requests_queued_max = 1024;  ///< engine.maxQueuedRequests
  /// engine.maxQueuedTokens; 0: what the engine can prefill within ttft_target_ms, as measured.
  std::int64_t prompt_tokens_queued_max = 0;
  std::int32_t ttft_target_ms = 30'000;  ///< engine.ttftTargetMs
  /// engine.itlTargetMs: longest pause between tokens that a step may cause; 0: from measured
  /// steps.
  std::int32_t itl_target_ms = 0;
  /// engine.toolParser, engine.reasoningParser: names that engine/dialect/syntax.h knows, or
  /// "auto": by the chat template.
  std::string tool_parser = "auto";
  std::string reasoning_parser = "auto";
  Backend backend = Backend::kCpu;    ///< engine.backend: "cpu" or "ref"
  std::int32_t drain_timeout_s = 30;  ///< drain.timeoutSeconds
  double keepalive_s = 5;  ///< http.keepAliveSeconds: silence in a stream before a comment
  std::string admin_token_path = {};  ///< admin.tokenFile; empty: admin on Unix sockets only
  std::string log_level = "info";     ///< log.level
  /// SHA-256 of the configuration document: of the file's bytes when there is a file and no flag
  /// but
  /// --listen changes it, else of the merged document. Front doors compare it with their own.
  std::string hash = {};
  std::int64_t restarts = 0;  ///< --restarts: starts before this one, as its parent counted
  /// --last-end: how the engine before this one ended ("none", "crashed" or "was_ended"); empty
  /// when nobody knows.
  std::string last_end = {};
};

/// Checks a merged document. kInvalidArgument with the key's path as `field`.
Result<EngineConfig> read_engine_config(const Json& document);

/// Reads `path` (may be empty) and lays `overrides`, a document of the same shape, over it. Errors
/// name the file and the key.
Result<EngineConfig> load_engine_config(const std::string& path, const Json& overrides);

}  // namespace kantha::serve
