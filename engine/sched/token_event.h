#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "engine/sched/prompt_scores.h"

/// What comes back from the engine thread.
namespace kantha::sched {

enum class FinishReason : std::uint8_t {
  /// An end token or a stop token (its id is in the event, its text is not shown), or the end of
  /// what the request's grammar allows (TokenEvent::ends_with_text).
  kStop,
  kLength,    ///< max_tokens or the window
  kAbort,     ///< the client left or the door asked for it
  kError,     ///< the engine failed this request; `error` says why
  kDeadline,  ///< the request's own deadline passed
};
inline constexpr std::size_t kFinishReasonCount = 5;

/// One output token, or the end of a request, or both.
struct TokenEvent {
  RequestId id;
  std::optional<TokenId> token = {};
  float logprob = 0;                            ///< of `token`; only when asked for
  std::vector<TokenLogprob> top_logprobs = {};  ///< best first; only when asked for
  /// Complete; with the first event of a request that asked for them, but for one that failed.
  std::shared_ptr<const PromptScores> prompt_scores = {};
  /// [width] sums of hidden states, with the end of a request whose `pooling` asked for them.
  std::shared_ptr<const std::vector<double>> pooled_states = {};
  std::optional<FinishReason> finish = {};
  std::string error = {};
  bool ends_with_text = false;  ///< with kStop: `token` is text like any other
  bool forbidden = false;  ///< with `error`: the request forbids every token that could come next
  std::int32_t prompt_tokens = 0;
  std::int32_t cached_tokens = 0;  ///< prompt tokens found in the prefix cache
  std::int32_t output_tokens = 0;  ///< including this one and resumed ones
  TimePoint first_scheduled{};     ///< when it first left the waiting line
};

class EventHub;

/// Receives the events of its requests. Called on the engine thread: it only enqueues and never
/// blocks.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_events(std::vector<TokenEvent> events) = 0;
  /// Where this sink's events go together with those of others; null: on_events takes them. Never
  /// changes, and outlives the sink.
  virtual EventHub* hub() { return nullptr; }
};

/// An event and where it goes.
struct AddressedEvent {
  std::shared_ptr<EventSink> sink;
  TokenEvent event;
};

/// Receives one step's events for all of its sinks in one call. Called on the engine thread: it
/// only enqueues and never blocks.
class EventHub {
 public:
  virtual ~EventHub() = default;
  /// Takes events of sinks whose hub this is, in order, and leaves `events` empty: with the storage
  /// of an earlier step if it can, so that nothing is allocated.
  virtual void on_step(std::vector<AddressedEvent>& events) = 0;
};

}  // namespace kantha::sched
