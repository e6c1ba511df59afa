#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/clock.h"
#include "base/ids.h"
#include "base/net/task_group.h"
#include "engine/serve/engine_config.h"
#include "engine/serve/engine_metrics.h"
#include "engine/serve/event_queue.h"
#include "engine/serve/live_request.h"
#include "engine/serve/phase_board.h"
#include "engine/serve/served_model.h"
#include "engine/serve/token_estimate.h"

namespace kantha::serve {

/// Text up to here is read and tokenised within a few milliseconds.
inline constexpr std::size_t kQuickBytesMax = 64u << 10;

/// Everything that the request handlers of one server share. I/O thread only, but for `phase`.
struct ServeState {
  ServeState(EngineConfig engine_config, const Clock& the_clock,
             boost::asio::any_io_executor io_executor)
      : config(std::move(engine_config)),
        clock(the_clock),
        executor(std::move(io_executor)),
        events(std::make_shared<EventQueue>(executor, the_clock)),
        phase(the_clock),
        text_tasks(executor, "text work"),
        text_worker(1),
        bulk_worker(1) {}

  const EngineConfig config;
  const Clock& clock;
  const boost::asio::any_io_executor executor;
  const std::shared_ptr<EventQueue> events;  ///< from the engine to every request
  std::string admin_token;                   ///< empty: admin on Unix sockets only
  PhaseBoard phase;
  EngineMetrics metrics;
  std::shared_ptr<const ServedModel> model;  ///< null until the phase is ready
  std::string tokenizer_hash;                ///< of `model`, made when it is first asked for
  net::TaskGroup text_tasks;                 ///< of TextTurn
  net::WorkerPool text_worker;               ///< template and tokenizer of ordinary requests
  net::WorkerPool bulk_worker;            ///< of long ones, and large JSON: nobody waits for them
  std::unordered_set<LiveRequest*> live;  ///< requests at the engine, for the drain's end
  bool drain_expired = false;             ///< requests that still come out of preparation end
  std::int64_t generations = 0;           ///< generation requests being answered
  std::int64_t requests_in_preparation = 0;  ///< at the text workers
  std::int64_t tokens_in_preparation = 0;    ///< of those, estimated
  TokenEstimate token_estimate;
  std::uint64_t last_request_id = 0;
  std::int64_t requests_total = 0;         ///< generations accepted by the engine
  std::function<void()> request_drain;     ///< POST /admin/v1/drain
  std::function<void()> request_shutdown;  ///< POST /admin/v1/shutdown

  RequestId next_request_id() { return {++last_request_id}; }
  /// Where text of so many bytes is worked on.
  net::WorkerPool& worker_for(std::size_t bytes) {
    return bytes <= kQuickBytesMax ? text_worker : bulk_worker;
  }
  DoorNumbers door_numbers() const {
    return {.requests_preparing = requests_in_preparation,
            .tokens_preparing = tokens_in_preparation,
            .stalled = phase.stalled()};
  }
};

}  // namespace kantha::serve
