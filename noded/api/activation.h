#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

/// What an activator is told, and what it says: the wire types of /admin/v1/activations, shared by
/// noded (the activator) and the operator. Plain structs and their JSON; unknown fields are
/// ignored. Any thread.
namespace kantha::noded {

inline constexpr std::size_t kActivationsMax = 20'000;
inline constexpr std::size_t kActivationPodsMax = 1'000;

/// One object whose requests the activator takes while it has no pod.
struct Activation {
  std::string id = {};    ///< unique, and another one when the object was made anew: its uid
  std::string name = {};  ///< "NAMESPACE/NAME", for logs and messages
  std::int64_t port = 0;  ///< where its requests come; 0: any free one
  bool asks_for_keys = false;
  /// The file of API keys (noded/gateway/api_keys.h): digests, no keys. nullopt where keys are
  /// asked for: they are not known yet, and nobody is let in.
  std::optional<std::string> keys = {};
  std::vector<std::string> pods = {};  ///< "HOST:PORT" of those that take requests now

  bool operator==(const Activation&) const = default;
};

/// Body of PUT /admin/v1/activations: all of them; what is not in it is closed.
struct ActivationTable {
  std::vector<Activation> entries;
  bool operator==(const ActivationTable&) const = default;
};

/// One of them as it stands.
struct LaneState {
  std::string id = {};
  std::int64_t port = 0;     ///< where it listens; 0: it does not
  std::int64_t held = 0;     ///< requests that wait for a pod
  std::int64_t waiting = 0;  ///< those, and the ones that were passed on and have not ended
  std::int64_t total = 0;    ///< let in so far
  std::int64_t idle_ms = 0;  ///< since the last one ended, or since it was told; 0 while waiting
  std::string error = {};    ///< why it does not listen, or what is wrong with its keys

  bool operator==(const LaneState&) const = default;
};

/// Body of GET /admin/v1/activations, and the answer to PUT.
struct ActivatorState {
  std::string table = {};  ///< SHA-256 of the table's text that it was told last; empty: none
  bool draining = false;
  std::vector<LaneState> lanes = {};

  bool operator==(const ActivatorState&) const = default;
};

Json to_json(const ActivationTable& table);
Json to_json(const ActivatorState& state);
/// kInvalidArgument with the field's path on wrong types, bounds and ids that are there twice.
Result<ActivationTable> activation_table_from_json(const Json& json);
Result<ActivatorState> activator_state_from_json(const Json& json);

}  // namespace kantha::noded
