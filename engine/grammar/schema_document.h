#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kantha::grammar {

/// One (sub)schema: a place in the document, which outlives it.
using Schema = const OrderedJson*;

/// Schemas that hold at the same time; sorted, each once. None: anything is right.
using Schemas = std::vector<Schema>;

/// Sorts, drops doubles and those that say nothing.
Schemas together(Schemas schemas);

/// The schema as the client wrote it, with the path of each place that was visited. One thread.
class SchemaDocument {
 public:
  SchemaDocument(const OrderedJson& root, std::string path) : root_(root) {
    paths_.emplace(&nothing_, path);
    paths_.emplace(&root, std::move(path));
  }

  Schema root() const { return &root_; }
  /// A schema that no value is right under.
  Schema nothing() const { return &nothing_; }
  /// Where a visited place stands: "response_format.json_schema.schema.properties.a".
  const std::string& path_of(Schema schema) const { return paths_.at(schema); }
  /// The value of a keyword, whose path is noted.
  Schema member(Schema parent, const std::string& key);
  Schema element(Schema parent, std::size_t index);
  /// The target of a `$ref` (RFC 6901 pointers into this document), which stands at `place`.
  Result<Schema> resolve(Schema place);
  /// "PATH: WHAT" with the path as field.
  Error error(Schema place, std::string_view what) const;

 private:
  Result<Schema> step(Schema from, std::string_view token, Schema place);

  const OrderedJson& root_;
  const OrderedJson nothing_ = false;
  std::unordered_map<Schema, std::string> paths_;
};

/// Kinds of JSON values; an integer is a number without a fraction, however it is written.
enum TypeBits : unsigned {
  kNullType = 1,
  kBooleanType = 2,
  kIntegerType = 4,
  kFractionType = 8,  ///< numbers that are no integers
  kStringType = 16,
  kArrayType = 32,
  kObjectType = 64,
  kNumberType = kIntegerType | kFractionType,
  kAllTypes = 127,
};

/// Of one value.
unsigned type_of(const OrderedJson& value);
/// Of a name in `type`; 0 when there is no such type.
unsigned type_named(std::string_view name);
/// Equal as JSON Schema has it: 1 is 1.0, and the order of keys says nothing.
bool same_value(const OrderedJson& a, const OrderedJson& b);

}  // namespace kantha::grammar
