#include "operator/runtime/watch_sink.h"

#include "base/json_text.h"

namespace kantha::runtime {

std::string version_of(const Json& object) {
  return text_at(object, "metadata", "resourceVersion");
}

}  // namespace kantha::runtime
