#pragma once

#include <string>
#include <string_view>
#include <vector>

/// What the fuzzers and the seeded test run: anything may be refused, with words and within the
/// limits; what is taken must be walked without dead ends.
namespace kantha::grammar {

/// The bytes as JSON, and that as a schema.
void fuzz_schema(std::string_view text);
void fuzz_regex(std::string_view pattern);
void fuzz_gbnf(std::string_view source);

/// Right ones to begin with.
std::vector<std::string> schema_corpus();
std::vector<std::string> regex_corpus();
std::vector<std::string> gbnf_corpus();

}  // namespace kantha::grammar
