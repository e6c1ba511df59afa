#include "engine/engine_boot.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/machine.h"
#include "base/version.h"
#include "engine/exec/engine_thread.h"
#include "engine/exec/forward_factory.h"
#include "engine/model/load_model.h"
#include "engine/serve/kv_plan.h"

namespace kantha::serve {
namespace {

constexpr std::int32_t kStepTokensDefault = 256;

/// The engine and what it borrows from; destroyed in reverse order.
struct RunningEngine {
  model::LoadedModel loaded;
  std::unique_ptr<exec::EngineThread> thread;
};

std::int32_t step_tokens(const EngineConfig& config) {
  if (config.step_tokens_max > 0) return config.step_tokens_max;
  return std::max(kStepTokensDefault, config.sequences_max);
}

Result<KvPlan> plan_for(const EngineConfig& config, const model::LlamaConfig& shape,
                        const MachineLimits& machine) {
  const bool cpu = config.backend == Backend::kCpu;
  KvFacts facts;
  facts.model_context = shape.context;
  facts.block_bytes = cpu ? exec::kv_block_bytes_cpu(shape, config.block_size)
                          : exec::kv_block_bytes_ref(shape, config.block_size);
  facts.memory_bytes = machine.memory_bytes;
  return plan_kv(config, facts);
}

Result<std::unique_ptr<exec::Forward>> make_forward(const EngineConfig& config,
                                                    const model::LlamaModel& llama,
                                                    const exec::ForwardOptions& options) {
  if (config.backend == Backend::kCpu) return exec::make_forward_cpu(llama, options);
  return exec::make_forward_ref(llama, options);
}

/// The engine thread, started, for a loaded model.
Result<std::shared_ptr<gateway::EnginePort>> start_engine(const EngineConfig& config,
                                                          model::LoadedModel loaded,
                                                          std::vector<TokenId> end_tokens,
                                                          PhaseBoard& board, const Clock& clock) {
  const MachineLimits machine = read_machine_limits();
  auto engine = std::make_shared<RunningEngine>();
  engine->loaded = std::move(loaded);
  const model::LlamaModel& llama = engine->loaded.llama;
  TRY(const KvPlan plan, plan_for(config, llama.config, machine));
  exec::ForwardOptions forward_options;
  forward_options.kv = {.block_size = config.block_size, .block_count = plan.block_count};
  forward_options.rows_max = step_tokens(config);
  forward_options.logit_rows_max = config.sequences_max;
  forward_options.threads = config.threads > 0 ? config.threads : machine.cpus;
  forward_options.progress = [&board](std::int64_t done, std::int64_t total) {
    board.advance(done, total);
  };
  TRY(auto forward, make_forward(config, llama, forward_options));
  exec::EngineOptions options;
  options.kv = forward_options.kv;
  options.context_max = plan.context_max;
  options.sequences_max = config.sequences_max;
  options.step_tokens_max = step_tokens(config);
  options.prefix_caching = config.prefix_caching;
  options.requests_queued_max = config.requests_queued_max;
  options.prompt_tokens_queued_max = config.prompt_tokens_queued_max;
  options.ttft_target = std::chrono::milliseconds(config.ttft_target_ms);
  options.itl_target = std::chrono::milliseconds(config.itl_target_ms);
  options.end_tokens = std::move(end_tokens);
  log_info("engine planned", {{"context", plan.context_max},
                              {"kv_blocks", plan.block_count},
                              {"kv_bytes", plan.bytes},
                              {"threads", forward_options.threads},
                              {"machine", machine.source}});
  board.report("starting the engine");
  engine->thread =
      std::make_unique<exec::EngineThread>(std::move(forward), std::move(options), clock);
  engine->thread->warm_up();
  engine->thread->start();
  return std::shared_ptr<gateway::EnginePort>(engine, engine->thread.get());
}

bool may_stand_in_url(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.' || c == ':' || c == '/';
  });
}

}  // namespace

std::string default_model_name(const std::string& general_name, const std::string& path) {
  if (may_stand_in_url(general_name)) return general_name;
  return std::filesystem::path(path).stem().string();
}

Result<ServedModel> boot_engine(const EngineConfig& config, PhaseBoard& board, const Clock& clock) {
  board.plan(4);
  board.report("mapping weights");
  auto loaded = model::load_model(config.model_path);
  if (!loaded.ok()) return std::move(loaded).error().with_context("model");
  const std::string name = config.model_name.empty()
                               ? default_model_name(loaded->name, config.model_path)
                               : config.model_name;
  board.report("building the tokenizer");
  auto tokenizer = text::Tokenizer::build(std::move(loaded->vocabulary));
  if (!tokenizer.ok()) return std::move(tokenizer).error().with_context("tokenizer");
  std::optional<text::ChatTemplate> chat_template;
  const std::string& source = tokenizer->vocabulary().chat_template;
  if (!source.empty()) {
    auto parsed = text::ChatTemplate::parse(source);
    if (!parsed.ok()) return std::move(parsed).error().with_context("chat template");
    chat_template = std::move(parsed).value();
  }
  board.report("preparing the forward pass", 0, "bytes");
  const auto ends = tokenizer->end_tokens();
  TRY(auto engine, start_engine(config, std::move(loaded).value(),
                                std::vector<TokenId>(ends.begin(), ends.end()), board, clock));
  const auto since_epoch = clock.wall_now().time_since_epoch();
  return ServedModel{
      .name = name,
      .created = std::chrono::duration_cast<std::chrono::seconds>(since_epoch).count(),
      .fingerprint = "kantha-" + std::string(version()) + "-" + config.hash.substr(0, 12),
      .tokenizer = std::move(tokenizer).value(),
      .chat_template = std::move(chat_template),
      .engine = std::move(engine)};
}

}  // namespace kantha::serve
