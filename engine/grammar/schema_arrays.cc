#include <algorithm>

#include "engine/grammar/schema_compiler.h"

/// Arrays: items by their place, and how many.
namespace kantha::grammar {
namespace {

/// What holds for the item at one place.
Schemas item_schemas(const Shape& shape, std::size_t place) {
  Schemas schemas;
  for (const ArrayPart& part : shape.arrays) {
    if (place < part.prefix.size()) {
      schemas.push_back(part.prefix[place]);
    } else if (part.items != nullptr) {
      schemas.push_back(part.items);
    }
  }
  return schemas;
}

}  // namespace

Status SchemaCompiler::add_array(Nfa& nfa, const Shape& shape) {
  if (shape.items_max && *shape.items_max < shape.items_min) return ok_status();
  std::size_t places = std::max<std::size_t>(shape.items_min, 1);
  for (const ArrayPart& part : shape.arrays) places = std::max(places, part.prefix.size());
  if (shape.items_max) places = *shape.items_max;
  TRY_OK(budget_.check_repeats(places, budget_.place(), "minItems and maxItems"));
  const RuleId space = json_.space();
  const StateId open = nfa.add_state();
  const StateId close = nfa.add_state();
  nfa.add_bytes(Nfa::kStart, '[', '[', open);
  nfa.add_bytes(close, ']', ']', Nfa::kAccept);
  if (shape.items_min == 0) nfa.add_call(open, space, close);
  const auto after_comma = [&](StateId from) {
    const StateId comma = nfa.add_state();
    const StateId next = nfa.add_state();
    nfa.add_bytes(from, ',', ',', comma);
    nfa.add_call(comma, space, next);
    return next;
  };
  StateId at = nfa.add_state();
  nfa.add_call(open, space, at);
  for (std::size_t i = 0; i < places; ++i) {
    const StateId after = nfa.add_state();
    nfa.add_call(at, rule_for(item_schemas(shape, i)), after);
    if (i + 1 >= shape.items_min) nfa.add_call(after, space, close);
    if (i + 1 < places) {
      at = after_comma(after);
    } else if (!shape.items_max) {
      nfa.add_call(after_comma(after), rule_for(item_schemas(shape, places)), after);
    }
  }
  return ok_status();
}

}  // namespace kantha::grammar
