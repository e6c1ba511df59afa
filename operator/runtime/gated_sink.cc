#include "operator/runtime/gated_sink.h"

#include <utility>

namespace kantha::runtime {

WatchSink gated(WatchSink sink, WriteGate& gate, std::string_view plural) {
  const auto with_version = [&gate, plural](std::function<void(std::string)> inner) {
    return [&gate, plural, inner = std::move(inner)](const std::string& version) {
      inner(version);
      gate.seen_all(plural, version);
    };
  };
  const auto with_event = [&gate, plural](std::function<void(const Json&)> inner) {
    return [&gate, plural, inner = std::move(inner)](const Json& object) {
      inner(object);
      gate.passed(plural, version_of(object));
    };
  };
  sink.publish = with_version(std::move(sink.publish));
  sink.seen_version = with_version(std::move(sink.seen_version));
  sink.apply = with_event(std::move(sink.apply));
  sink.erase = with_event(std::move(sink.erase));
  return sink;
}

}  // namespace kantha::runtime
