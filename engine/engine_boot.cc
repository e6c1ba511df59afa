#include "engine/engine_boot.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/machine.h"
#include "base/version.h"
#include "engine/exec/engine_thread.h"
#include "engine/exec/forward_factory.h"
#include "engine/exec/lap_timer.h"
#include "engine/model/load_model.h"
#include "engine/model/weight_reader.h"
#include "engine/serve/kv_plan.h"
#include "engine/serve/load_notice.h"

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

/// Prompt tokens whose log-probabilities one step computes: each costs a row of logits.
constexpr std::int32_t kScoreRows = 64;

Result<std::unique_ptr<exec::Forward>> make_forward(const EngineConfig& config,
                                                    const model::LlamaModel& llama,
                                                    const exec::ForwardOptions& options) {
  if (config.backend == Backend::kCpu) return exec::make_forward_cpu(llama, options);
  return exec::make_forward_ref(llama, options);
}

std::int64_t lap_ms(exec::LapTimer& timer) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(timer.lap()).count();
}

void tell(const LoadPace& pace) {
  log_info("loading weights", {{"percent", pace.percent},
                               {"mb_per_s", pace.mb_per_s},
                               {"seconds_left", pace.seconds_left}});
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
  forward_options.logit_rows_max = config.sequences_max + kScoreRows;
  forward_options.context = plan.context_max;
  forward_options.threads = config.threads > 0 ? config.threads : machine.cpus;
  model::WeightReader reader(engine->loaded);
  LoadNotice notice(clock.now());
  forward_options.progress = [&](std::int64_t done, std::int64_t total) {
    board.advance(done, total);
    const auto pace = notice.at(clock.now(), done, total);
    if (pace) tell(*pace);
  };
  forward_options.plan = [&reader](auto order) { reader.begin(std::move(order)); };
  forward_options.release = [&reader](std::span<const std::byte> copied) {
    reader.release(copied);
  };
  exec::LapTimer timer(clock);
  TRY(auto forward, make_forward(config, llama, forward_options));
  reader.end();
  const std::int64_t weights_ms = lap_ms(timer);
  exec::EngineOptions options;
  options.kv = forward_options.kv;
  options.context_max = plan.context_max;
  options.sequences_max = config.sequences_max;
  options.score_rows_max = kScoreRows;
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
  log_info("engine prepared", {{"weights_ms", weights_ms}, {"warm_up_ms", lap_ms(timer)}});
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
  exec::LapTimer timer(clock);
  auto loaded = model::load_model(config.model_path);
  if (!loaded.ok()) return std::move(loaded).error().with_context("model");
  const std::string name = config.model_name.empty()
                               ? default_model_name(loaded->name, config.model_path)
                               : config.model_name;
  const std::int64_t map_ms = lap_ms(timer);
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
  TRY(ModelDialect dialect, model_dialect(*tokenizer, chat_template ? &*chat_template : nullptr,
                                          config.tool_parser, config.reasoning_parser));
  log_info("model read", {{"map_ms", map_ms}, {"tokenizer_ms", lap_ms(timer)}});
  log_info("dialect chosen",
           {{"tools", std::string(dialect::tool_syntax_name(dialect.dialect.tools))},
            {"own_prompt", dialect.dialect.own_prompt},
            {"reasoning", dialect.dialect.reasoning.open}});
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
      .dialect = std::move(dialect),
      .engine = std::move(engine)};
}

}  // namespace kantha::serve
