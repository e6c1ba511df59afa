#pragma once

#include <string>
#include <string_view>
#include <vector>

/// What the fuzzers and the seeded test run: anything may come out, but nothing may crash or hang.
namespace kantha::text {

/// Parses the bytes as a template and renders a fixed conversation, under small limits.
void fuzz_template(std::string_view source);
/// Encodes the bytes in every way and with every kind of tokenizer, and checks what must hold.
void fuzz_tokenizer(std::string_view text);
/// Compiles the bytes as a splitting pattern and cuts a fixed text with it.
void fuzz_pattern(std::string_view source);
/// Reads the bytes as SentencePiece's map of characters and applies it to a fixed text.
void fuzz_character_map(std::string_view data);

/// Good inputs of each, for mutations to begin with.
std::vector<std::string> template_corpus();
std::vector<std::string> text_corpus();
std::vector<std::string> pattern_corpus();
std::vector<std::string> character_map_corpus();

}  // namespace kantha::text
