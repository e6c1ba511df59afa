#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

/// What an answer must look like; plain data. engine/api reads it from a request's fields, the tool
/// dialects put it together for forced calls, and compile (grammar.h) makes a Grammar of it.
namespace kantha::grammar {

/// One wish, or a tree of them. Make them with the functions below.
struct Wish {
  enum class Kind : std::uint8_t {
    kJsonValue,     ///< any JSON value
    kJsonObject,    ///< any JSON object
    kSchema,        ///< JSON that is valid under `schema` (2020-12)
    kRegex,         ///< a whole match of `text` (ECMA-262's syntax)
    kGbnf,          ///< the rule `root` of the grammar in `text`
    kLiteral,       ///< `text` as it is; may be empty
    kControlToken,  ///< the control token that is spelled `text`, as one token, never as its
                    ///< letters
    kTextWithout,   ///< any UTF-8 text, also none, in which none of `texts` occurs
    kSequence,      ///< `parts` one after the other; none: nothing
    kOneOf,         ///< one of `parts`, at least one of which there must be
    kRepeat,        ///< `parts.front()` from `count_min` to `count_max` times
  };

  Kind kind = Kind::kJsonValue;
  OrderedJson schema = {};  ///< keys in the client's order: answers keep it
  std::string text = {};
  std::vector<std::string> texts = {};
  std::vector<Wish> parts = {};
  std::int32_t count_min = 0;
  std::int32_t count_max = 0;  ///< -1: no bound
  bool compact = false;        ///< JSON without any white space between its tokens
  /// Where the wish stands in the request ("response_format.json_schema.schema"): errors begin with
  /// it, and Error::field is it and the path inside a schema.
  std::string path = {};

  bool operator==(const Wish&) const = default;
};

inline Wish json_value() { return {.kind = Wish::Kind::kJsonValue}; }
inline Wish json_object() { return {.kind = Wish::Kind::kJsonObject}; }
inline Wish json_schema(OrderedJson schema, std::string path) {
  return {.kind = Wish::Kind::kSchema, .schema = std::move(schema), .path = std::move(path)};
}
inline Wish regex(std::string pattern, std::string path) {
  return {.kind = Wish::Kind::kRegex, .text = std::move(pattern), .path = std::move(path)};
}
inline Wish gbnf(std::string source, std::string path) {
  return {.kind = Wish::Kind::kGbnf, .text = std::move(source), .path = std::move(path)};
}
inline Wish literal(std::string text) {
  return {.kind = Wish::Kind::kLiteral, .text = std::move(text)};
}
inline Wish control_token(std::string spelling) {
  return {.kind = Wish::Kind::kControlToken, .text = std::move(spelling)};
}
inline Wish text_without(std::vector<std::string> texts) {
  return {.kind = Wish::Kind::kTextWithout, .texts = std::move(texts)};
}
inline Wish sequence(std::vector<Wish> parts) {
  return {.kind = Wish::Kind::kSequence, .parts = std::move(parts)};
}
inline Wish one_of(std::vector<Wish> parts) {
  return {.kind = Wish::Kind::kOneOf, .parts = std::move(parts)};
}
/// `count_max` -1: no bound.
inline Wish repeat(Wish part, std::int32_t count_min, std::int32_t count_max) {
  return {.kind = Wish::Kind::kRepeat,
          .parts = {std::move(part)},
          .count_min = count_min,
          .count_max = count_max};
}
/// One of the texts, letter by letter.
inline Wish choice(const std::vector<std::string>& texts) {
  Wish wish{.kind = Wish::Kind::kOneOf};
  for (const std::string& text : texts) wish.parts.push_back(literal(text));
  return wish;
}

/// Bounds on what one wish may cost; beyond one it is refused by name. Counted, not timed, so that
/// the same wish is refused on every machine.
struct Limits {
  std::size_t text_bytes_max = 256u << 10;  ///< of a regex, of a grammar, of all literals
  std::size_t depth_max = 64;               ///< nested schemas, groups of a regex, wishes
  std::size_t repeats_max = 10'000;         ///< in {n,m}, minItems, maxLength, …
  std::size_t states_max = 60'000;          ///< of the automata, together
  std::size_t rules_max = 4'000;
  std::size_t work_max = 6'000'000;  ///< steps of the compiler: a fraction of a second
};

}  // namespace kantha::grammar
