#pragma once

#include <compare>
#include <cstdint>
#include <functional>

/// Ids are types, so that a block index cannot be passed where a request is meant.
namespace kantha {

template <class Tag>
struct Id {
  std::uint64_t value = 0;
  auto operator<=>(const Id&) const = default;
};

/// One generation request inside one engine process; never reused while the process lives.
using RequestId = Id<struct RequestIdTag>;

/// Index into the model's vocabulary; plain int32 because it lives in flat arrays.
using TokenId = std::int32_t;

/// Index of a KV block in its pool; plain int32 because it lives in flat arrays.
using BlockId = std::int32_t;

}  // namespace kantha

template <class Tag>
struct std::hash<kantha::Id<Tag>> {
  std::size_t operator()(const kantha::Id<Tag>& id) const noexcept {
    return std::hash<std::uint64_t>{}(id.value);
  }
};
