#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/json.h"
#include "base/result.h"
#include "noded/api/latency_sketch.h"

/// What a pod's own engine has answered since its noded began: the evidence by which a rollout is
/// judged. Counts only grow; two samples of one noded are compared with `since`. Plain data; any
/// thread.
namespace kantha::noded {

/// Prompts are compared with prompts of their size only: up to 32, 64, 128, … 32k tokens, longer.
inline constexpr std::size_t kPromptClasses = 12;
std::size_t prompt_class(std::int64_t prompt_tokens);

/// A whole answer's time says something else than a stream's.
inline constexpr std::size_t kPaceKinds = 2;
enum class PaceKind : std::uint8_t { kStream, kWhole };

struct ServiceSample {
  std::int64_t answered = 0;  ///< requests that this pod's engine ended, well or not
  std::int64_t failed = 0;    ///< of those: 5xx (not 503, which is a refusal), broken streams
  /// Arrival to first token of streams, waiting for an engine left out, by prompt_class.
  std::array<LatencySketch, kPromptClasses> first_token = {};
  /// Time for each output token: of streams after the first one, of whole answers all of it.
  std::array<LatencySketch, kPaceKinds> per_token = {};

  void merge(const ServiceSample& other);
  ServiceSample since(const ServiceSample& earlier) const;
  std::int64_t first_token_count() const;
  bool operator==(const ServiceSample&) const = default;
};

Json to_json(const ServiceSample& sample);
/// kInvalidArgument with the field's path on wrong types.
Result<ServiceSample> service_sample_from_json(const Json& json);

}  // namespace kantha::noded
