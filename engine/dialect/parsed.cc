#include "engine/dialect/parsed.h"

#include <algorithm>
#include <utility>

namespace kantha::dialect {

CallDelta& Parsed::call(std::int32_t index) {
  const auto found = std::ranges::find(calls, index, &CallDelta::index);
  if (found != calls.end()) return *found;
  calls.push_back({.index = index});
  return calls.back();
}

void Parsed::append(Parsed later) {
  reasoning += later.reasoning;
  content += later.content;
  for (CallDelta& delta : later.calls) {
    CallDelta& mine = call(delta.index);
    if (!delta.id.empty()) mine.id = std::move(delta.id);
    if (!delta.name.empty()) mine.name = std::move(delta.name);
    mine.arguments += delta.arguments;
  }
}

}  // namespace kantha::dialect
