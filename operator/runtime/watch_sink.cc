#include "operator/runtime/watch_sink.h"

namespace kantha::runtime {

std::string version_of(const Json& object) {
  if (!object.is_object()) return {};
  const auto meta = object.find("metadata");
  if (meta == object.end() || !meta->is_object()) return {};
  const auto version = meta->find("resourceVersion");
  return version != meta->end() && version->is_string() ? version->get<std::string>()
                                                        : std::string();
}

}  // namespace kantha::runtime
