#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/load_model.h"

/// What the fuzzers and the seeded tests run: anything may be refused, with words; what is taken
/// must stand up to being used.
namespace kantha::model {

/// Loads a GGUF's bytes and uses what came out. With false they were refused.
bool fuzz_gguf(std::span<const std::byte> bytes);
/// Reads every byte of the weights, computes three tokens, and builds the tokenizer if it can be.
void use_model(const LoadedModel& loaded);
/// A safetensors file's header, with as many bytes behind it as the input has.
void fuzz_safetensors(std::string_view file);
/// tokenizer.json to a vocabulary of 320 tokens, and that to a tokenizer, which cuts a text.
void fuzz_tokenizer_json(std::string_view text);
/// config.json.
void fuzz_config(std::string_view text);

/// Good inputs of each, for mutations to begin with. Those of GGUFs end before the weights.
std::vector<std::string> gguf_corpus();
std::vector<std::string> safetensors_corpus();
std::vector<std::string> tokenizer_json_corpus();
std::vector<std::string> config_corpus();

}  // namespace kantha::model
