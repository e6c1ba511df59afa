#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/grammar/budget.h"
#include "engine/grammar/json_rules.h"
#include "engine/grammar/schema_document.h"
#include "engine/grammar/schema_shape.h"
#include "engine/grammar/schema_validator.h"

namespace kantha::grammar {

/// Characters that a bounded string may have at most.
inline constexpr std::size_t kLengthMax = 4000;

/// Writes the rules for one schema document: a rule for each set of schemas that hold together
/// somewhere, made when it is first needed, so that recursion ends. Every answer of these rules is
/// right under the schema; not every right value is an answer: keys come in the order of
/// `properties`, keys that are not named come only where additionalProperties or patternProperties
/// asks for them, strings with bounds and keys are escaped in one way (encoding.h). What cannot be
/// held is refused by its keyword and path. One thread.
class SchemaCompiler final : private ShapeExclusion {
 public:
  SchemaCompiler(const OrderedJson& schema, std::string path, JsonRules& json, Budget& budget);

  /// The rule for the whole schema.
  Result<RuleId> compile();

 private:
  friend class ObjectWriter;

  /// The rule for what holds together; written later.
  RuleId rule_for(Schemas schemas);
  Status write_rule(RuleId rule, const Schemas& schemas);
  Status add_shape(Nfa& nfa, const Shape& shape, const Schemas& schemas);
  Status add_values(Nfa& nfa, const Shape& shape, const Schemas& schemas);
  Status check_refusals(const Shape& shape) const;

  // schema_numbers.cc
  Status add_number(Nfa& nfa, const Shape& shape);
  Result<Dfa> integers(const Shape& shape, std::int64_t low, std::int64_t high);

  // schema_strings.cc
  Status add_string(Nfa& nfa, const Shape& shape);
  Result<Dfa> length_language(std::size_t min, std::optional<std::size_t> max);
  /// Texts of a shape's strings, escaped, without quotes.
  Result<Dfa> string_language(const Shape& shape);
  /// Those that schemas allow for strings, for propertyNames.
  Result<Dfa> string_language(const Schemas& schemas);

  // schema_arrays.cc
  Status add_array(Nfa& nfa, const Shape& shape);

  // schema_exclusion.cc
  Result<bool> excludes(const Shape& made, const Shape& other, Schema alternative) override;
  Result<bool> excludes_objects(const Shape& made, const Shape& other);
  Result<bool> excludes_strings(const Shape& made, const Shape& other);
  /// No value is right under both, as far as it can be seen.
  Result<bool> contradict(const Schemas& a, const Schemas& b);
  /// What holds for the member `key`; null when the shape forbids it.
  Result<std::optional<Schemas>> member_schemas(const Shape& shape, const std::string& key);

  SchemaDocument document_;
  JsonRules& json_;
  Budget& budget_;
  SchemaValidator validator_;
  std::map<Schemas, RuleId> rules_;
  std::vector<std::pair<RuleId, Schemas>> unwritten_;
  std::size_t exclusion_depth_ = 0;
};

}  // namespace kantha::grammar
