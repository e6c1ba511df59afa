#include "engine/sim/front_door.h"

#include <limits>

namespace kantha::sim {

FrontDoor::FrontDoor(const RunOptions& options)
    : limits_{.context_max = options.context_max,
              .pool_tokens = std::int64_t{options.block_count} * options.block_size,
              .vocabulary_size = std::numeric_limits<std::int32_t>::max(),
              .requests_queued_max = options.requests_queued_max,
              .prompt_tokens_queued_max = options.prompt_tokens_queued_max} {}

Outcome FrontDoor::check(const Arrival& arrival, std::int64_t requests_waiting,
                         std::int64_t tokens_waiting) const {
  // What check_spec says of lengths, without a prompt of tokens at hand.
  const std::int64_t longest = std::int64_t{arrival.prompt_tokens} + arrival.output_tokens;
  if (longest > limits_.context_max || longest > limits_.pool_tokens) return Outcome::kTooLong;
  const gateway::QueueNumbers queue{.requests_waiting = requests_waiting,
                                    .tokens_waiting = tokens_waiting};
  const bool taken =
      gateway::check_queue(limits_, queue, {.prompt_tokens = arrival.prompt_tokens}).ok();
  return taken ? Outcome::kDone : Outcome::kRefused;
}

}  // namespace kantha::sim
