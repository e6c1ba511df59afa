#pragma once

#include <string>
#include <string_view>

#include "engine/grammar/nfa.h"
#include "engine/text/code_set.h"

/// How code points are written as bytes.
namespace kantha::grammar {

enum class Encoding : std::uint8_t {
  kPlain,  ///< UTF-8
  /// UTF-8 inside of a JSON string, in one way: `\"`, `\\`, \b \f \n \r \t, \u00xx for other
  /// control characters, and everything else as it is.
  kJson,
};

/// Edges for one code point of the set. Surrogates are left out.
void add_codes(Nfa& nfa, StateId from, const text::CodeSet& codes, StateId to, Encoding encoding);

/// A text's bytes under the encoding. Invalid UTF-8 becomes U+FFFD.
std::string encode(std::string_view text, Encoding encoding);

/// One character of a JSON string in whatever way JSON allows, surrogate pairs as one.
void add_json_character(Nfa& nfa, StateId from, StateId to);

}  // namespace kantha::grammar
