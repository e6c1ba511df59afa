#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/fake/gguf_writer.h"

/// The tiny random models of architectures.json as files.
namespace kantha::golden {

/// All cases of tests/golden/architectures.json; ends the test program where it cannot be read.
const Json& architecture_cases();

/// k · unit + center with k in [-127, 127], as make_architectures.py has them.
std::vector<float> tiny_weights(const std::string& name, std::size_t count, float unit,
                                float center);

/// A case as a GGUF with a vocabulary that names its tokens t0, t1, ….
fake::GgufWriter tiny_gguf(const Json& test);

/// A safetensors file of a case's tensors in F32, F16 or BF16; those with shard == index % shards.
fake::Bytes tiny_safetensors(const Json& test, const std::string& dtype, std::size_t shard = 0,
                             std::size_t shards = 1);

/// A tokenizer.json for so many tokens.
std::string tiny_tokenizer_json(std::int32_t size);

}  // namespace kantha::golden
