#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/grammar/budget.h"
#include "engine/grammar/schema_document.h"

/// From schemas that hold together to a list of shapes without `$ref`, allOf, anyOf and oneOf.
namespace kantha::grammar {

/// minimum and its kind.
struct NumberBound {
  Schema value = nullptr;
  bool lower = false;
  bool exclusive = false;
};

/// What one schema says of an object's keys.
struct ObjectPart {
  std::vector<std::pair<std::string, Schema>> properties = {};
  std::vector<std::pair<std::string, Schema>> patterns = {};  ///< regex of keys, for their values
  Schema additional = nullptr;                                ///< null: not said
};

/// What one schema says of an array's items.
struct ArrayPart {
  std::vector<Schema> prefix = {};
  Schema items = nullptr;  ///< of the others; null: not said
};

/// A keyword that cannot be enforced for values of `types`.
struct Refusal {
  unsigned types = 0;
  Schema place = nullptr;
  std::string what = {};
};

/// One way to be right, all keywords of all schemas put together.
struct Shape {
  unsigned types = kAllTypes;
  unsigned mentioned = 0;                               ///< types that some keyword speaks of
  bool typed = false;                                   ///< some `type` was said
  std::optional<std::vector<OrderedJson>> values = {};  ///< of const or enum: nothing else

  std::vector<NumberBound> bounds = {};
  std::vector<Schema> multiples = {};
  std::size_t length_min = 0;  ///< in characters
  std::optional<std::size_t> length_max = {};
  std::vector<Schema> patterns = {};
  std::vector<Schema> formats = {};
  std::vector<ArrayPart> arrays = {};
  std::size_t items_min = 0;
  std::optional<std::size_t> items_max = {};
  std::vector<ObjectPart> objects = {};
  std::vector<std::string> required = {};  ///< each once
  std::vector<Schema> property_names = {};
  std::size_t properties_min = 0;
  std::optional<std::size_t> properties_max = {};
  std::vector<Refusal> refusals = {};

  /// Of the answers that are made: where no schema says a type, those that keywords speak of.
  unsigned made_types() const { return typed || mentioned == 0 ? types : types & mentioned; }
};

/// Decides whether what is made of one shape can be right under another one as well, for oneOf.
class ShapeExclusion {
 public:
  virtual ~ShapeExclusion() = default;
  /// `alternative` is the schema that made `other` of what both share.
  virtual Result<bool> excludes(const Shape& made, const Shape& other, Schema alternative) = 0;
};

/// All shapes of schemas that hold together; none when they contradict each other.
Result<std::vector<Shape>> expand(const Schemas& schemas, SchemaDocument& document, Budget& budget,
                                  ShapeExclusion& exclusion);

}  // namespace kantha::grammar
