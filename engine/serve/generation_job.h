#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/api/generation_fields.h"
#include "engine/api/request_support.h"
#include "engine/gateway/engine_port.h"
#include "engine/sched/generate_spec.h"
#include "engine/sched/token_event.h"
#include "engine/serve/served_model.h"

namespace kantha::serve {

/// A checked and tokenised request, ready for the engine. Each prompt becomes one choice.
struct GenerationJob {
  api::ApiKind api = api::ApiKind::kChat;
  api::GenerationFields fields;  ///< `seed` is set
  std::vector<std::vector<TokenId>> prompts;
  TimePoint arrived{};
  std::shared_ptr<const ServedModel> model;
};

/// The engine's view of one choice, without its id. Where the client named no limit, max_tokens is
/// what the window leaves (chat) or at most 16 (text). kInvalidArgument with
/// context_length_exceeded and all numbers when prompt and output do not fit the window. Pure.
Result<sched::GenerateSpec> make_spec(const GenerationJob& job, std::size_t choice,
                                      const gateway::EngineLimits& limits);

/// How the choice has already ended, when its resumed tokens are all of it: an end token, a stop
/// token or max_tokens is reached. Pure.
std::optional<sched::FinishReason> ended_before(const sched::GenerateSpec& spec,
                                                std::span<const TokenId> end_tokens);

}  // namespace kantha::serve
