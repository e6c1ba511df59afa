#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "engine/grammar/budget.h"
#include "engine/grammar/dfa.h"
#include "engine/grammar/encoding.h"
#include "engine/grammar/regex_parser.h"
#include "engine/grammar/schema_document.h"

namespace kantha::grammar {

/// Says whether a value is right under a schema: for the values of enum and const, whose other
/// keywords then decide for each of them. Also knows keywords that no answer can be made for (not,
/// if, uniqueItems, …). kInvalidArgument for a malformed keyword or one that it does not know. One
/// thread.
class SchemaValidator {
 public:
  SchemaValidator(SchemaDocument& document, Budget& budget)
      : document_(document), budget_(budget) {}

  Result<bool> is_valid(const OrderedJson& value, Schema schema) { return check(value, schema, 0); }
  /// Whether a regex (JSON Schema's, found anywhere) is in a text.
  Result<bool> matches(const std::string& text, const std::string& pattern, const std::string& path,
                       RegexMatch match = RegexMatch::kAnywhere);

 private:
  struct Subject;
  Result<bool> check(const OrderedJson& value, Schema schema, std::size_t depth);
  Result<bool> check_keyword(const Subject& subject);
  Result<bool> check_in_place(const Subject& subject);
  Result<bool> check_number(const Subject& subject);
  Result<bool> check_string(const Subject& subject);
  Result<bool> check_array(const Subject& subject);
  Result<bool> check_object(const Subject& subject);
  Result<bool> check_member(const Subject& subject, const std::string& key);
  Result<std::size_t> count_valid(const Subject& subject);

  SchemaDocument& document_;
  Budget& budget_;
  std::map<std::pair<std::string, RegexMatch>, Dfa> regexes_;
};

}  // namespace kantha::grammar
