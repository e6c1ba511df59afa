#include "engine/grammar/schema_compiler.h"

#include <utility>

#include "engine/grammar/object_writer.h"

namespace kantha::grammar {

SchemaCompiler::SchemaCompiler(const OrderedJson& schema, std::string path, JsonRules& json,
                               Budget& budget)
    : document_(schema, std::move(path)),
      json_(json),
      budget_(budget),
      validator_(document_, budget) {}

Result<RuleId> SchemaCompiler::compile() {
  const Schema root = document_.root();
  if (!root->is_object() && !root->is_boolean()) {
    return document_.error(root, "expected a schema (an object or a boolean)");
  }
  const RuleId rule = rule_for({root});
  while (!unwritten_.empty()) {
    const auto [id, schemas] = std::move(unwritten_.back());
    unwritten_.pop_back();
    TRY_OK(budget_.check_rules(json_.rules().size()));
    TRY_OK(write_rule(id, schemas));
  }
  return rule;
}

RuleId SchemaCompiler::rule_for(Schemas schemas) {
  schemas = together(std::move(schemas));
  if (schemas.empty()) return json_.value();
  const auto known = rules_.find(schemas);
  if (known != rules_.end()) return known->second;
  const RuleId rule = json_.rules().add(document_.path_of(schemas.front()));
  rules_.emplace(schemas, rule);
  unwritten_.emplace_back(rule, std::move(schemas));
  return rule;
}

Status SchemaCompiler::write_rule(RuleId rule, const Schemas& schemas) {
  budget_.set_place(document_.path_of(schemas.front()));
  TRY(const std::vector<Shape> shapes, expand(schemas, document_, budget_, *this));
  Nfa nfa;
  for (const Shape& shape : shapes) {
    budget_.set_place(document_.path_of(schemas.front()));
    TRY_OK(add_shape(nfa, shape, schemas));
    TRY_OK(budget_.check_states(nfa.size() / 4));
  }
  json_.rules().set(rule, std::move(nfa));
  return ok_status();
}

Status SchemaCompiler::add_shape(Nfa& nfa, const Shape& shape, const Schemas& schemas) {
  if (shape.values) return add_values(nfa, shape, schemas);
  TRY_OK(check_refusals(shape));
  const unsigned types = shape.made_types();
  if ((types & kNullType) != 0) nfa.add_text(Nfa::kStart, "null", Nfa::kAccept);
  if ((types & kBooleanType) != 0) {
    nfa.add_text(Nfa::kStart, "true", Nfa::kAccept);
    nfa.add_text(Nfa::kStart, "false", Nfa::kAccept);
  }
  if ((types & kNumberType) != 0) TRY_OK(add_number(nfa, shape));
  if ((types & kStringType) != 0) TRY_OK(add_string(nfa, shape));
  if ((types & kArrayType) != 0) TRY_OK(add_array(nfa, shape));
  if ((types & kObjectType) == 0) return ok_status();
  return ObjectWriter(*this, shape).write(nfa);
}

/// Each value by itself, where everything else that is said holds for it.
Status SchemaCompiler::add_values(Nfa& nfa, const Shape& shape, const Schemas& schemas) {
  for (const OrderedJson& value : *shape.values) {
    bool valid = true;
    for (const Schema schema : schemas) {
      if (!valid) break;
      TRY(valid, validator_.is_valid(value, schema));
    }
    if (!valid) continue;
    const std::string text = dump_json(value);
    TRY_OK(budget_.work(text.size()));
    nfa.add_text(Nfa::kStart, text, Nfa::kAccept);
  }
  return ok_status();
}

Status SchemaCompiler::check_refusals(const Shape& shape) const {
  const unsigned types = shape.made_types();
  for (const Refusal& refusal : shape.refusals) {
    if ((refusal.types & types) != 0) return document_.error(refusal.place, refusal.what);
  }
  return ok_status();
}

}  // namespace kantha::grammar
