#pragma once

#include <string_view>

/// What the fuzzers and the seeded test run: anything may come out, but nothing may crash or hang.
namespace kantha::text {

/// Parses the bytes as a template and renders a fixed conversation, under small limits.
void fuzz_template(std::string_view source);
/// Encodes the bytes in every way and under all word rules, and checks what must hold.
void fuzz_tokenizer(std::string_view text);

}  // namespace kantha::text
