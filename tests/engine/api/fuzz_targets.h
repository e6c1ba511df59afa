#pragma once

#include <string>
#include <string_view>
#include <vector>

/// What the fuzzer and the seeded test run: any bytes as the body of every API.
namespace kantha::api {

/// A body is read, or refused with a 4xx whose message begins with its field.
void fuzz_body(std::string_view text);

/// One good body of each API.
std::vector<std::string> body_corpus();

}  // namespace kantha::api
