#pragma once

#include <string>

#include "operator/runtime/store.h"

/// A kind for tests: objects with one field of their own.
namespace kantha::runtime {

struct Lamp {
  kube::ObjectMeta meta;
  std::string color;
};

inline constexpr kube::Resource kLamps{"test.kantha.dev", "v1", "lamps", "Lamp"};

/// Fails without a color; throws when it is told to.
Result<Lamp> decode_lamp(const Json& object);
Json lamp(const std::string& name, const std::string& uid, int version, const std::string& color);
/// In namespace "home".
inline kube::ObjectKey lamp_key(const std::string& name) { return {"home", name}; }

}  // namespace kantha::runtime
