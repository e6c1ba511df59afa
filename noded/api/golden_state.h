#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/result.h"

/// What came of a pod's golden prompts at the engine that runs now. Plain data; any thread.
namespace kantha::noded {

struct GoldenState {
  bool done = false;         ///< every prompt was asked, at this engine
  std::int64_t prompts = 0;  ///< of the set
  std::int64_t failed = 0;   ///< whose answers differ, or did not come
  std::string message;       ///< the first of these, for people
  bool operator==(const GoldenState&) const = default;
};

Json to_json(const GoldenState& state);
/// kInvalidArgument with the field's path on wrong types.
Result<GoldenState> golden_state_from_json(const Json& json, const std::string& path);

}  // namespace kantha::noded
