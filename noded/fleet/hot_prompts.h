#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/net/http.h"
#include "noded/fleet/prompt_key.h"

/// The prompts whose beginnings a pod's engine sees most, for computing them again at an engine
/// that knows nothing yet. Plain data over `now`; one thread.
namespace kantha::noded {

struct HotPromptPolicy {
  std::size_t prompts_max = 64;                  ///< beginnings that are remembered
  std::size_t body_bytes_max = 64u << 10;        ///< longer requests are not
  Duration half_life = std::chrono::minutes(5);  ///< after which a use counts half
  /// Uses, about, that make a beginning worth computing ahead.
  double heat_min = 1.5;
  PromptKeyPolicy key = {};
};

/// Counts uses of each beginning (prompt_key.h) and keeps one request for it. A flood of prompts
/// that come once pushes out only others that came once, so that what is hot stays.
class HotPrompts {
 public:
  explicit HotPrompts(HotPromptPolicy policy = {}) : policy_(policy) {}

  /// The engine was sent this request.
  void note(const net::HttpRequest& request, TimePoint now);
  /// Requests that compute the hottest beginnings and nothing else, hottest first.
  std::vector<net::HttpRequest> hottest(std::size_t count_max, TimePoint now) const;
  bool empty() const { return prompts_.empty(); }

 private:
  struct Prompt {
    std::uint64_t key = 0;
    double heat = 0;  ///< at `at`
    TimePoint at{};
    net::HttpRequest request;
  };

  double heat(const Prompt& prompt, TimePoint now) const;

  HotPromptPolicy policy_;
  std::vector<Prompt> prompts_;
};

/// A request that has an engine compute the prompt of another one: the same prompt for the same
/// tenant, one token, no stream. nullopt when it is no JSON object. Pure.
std::optional<net::HttpRequest> warming_request(const net::HttpRequest& request);

}  // namespace kantha::noded
