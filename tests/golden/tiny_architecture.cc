#include "tests/golden/tiny_architecture.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/check.h"

namespace kantha::golden {
namespace {

std::uint64_t name_hash(const std::string& name) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char c : name) {
    value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return value;
}

std::uint16_t f16_of(float value) {
  const auto half = static_cast<_Float16>(value);
  std::uint16_t bits = 0;
  std::memcpy(&bits, &half, sizeof bits);
  return bits;
}

/// Rows of each head from halves to neighbours: row 2i of a head was row i, 2i + 1 row i + size/2.
std::vector<float> turned(const std::vector<float>& values, std::size_t rows, std::size_t heads) {
  const std::size_t cols = values.size() / rows;
  const std::size_t size = rows / heads;
  std::vector<float> out(values.size());
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t at = row % size;
    const std::size_t from = row - at + at / 2 + at % 2 * (size / 2);
    std::copy_n(values.data() + from * cols, cols, out.data() + row * cols);
  }
  return out;
}

std::vector<float> folder_values(const Json& tensor) {
  std::size_t count = 1;
  for (const Json& dim : tensor["shape"]) count *= dim.get<std::size_t>();
  return tiny_weights(tensor["hf"], count, tensor["unit"], tensor["center"]);
}

void put_key(fake::GgufWriter& writer, const std::string& key, const Json& kinds,
             const Json& value) {
  const std::string kind = kinds[0];
  if (kind == "UINT32") {
    writer.u32(key, value);
  } else if (kind == "INT32") {
    writer.i32(key, value);
  } else if (kind == "FLOAT32") {
    writer.f32(key, value);
  } else if (kind == "BOOL") {
    writer.flag(key, value);
  } else {
    CHECK(kind == "STRING", "a kind of key that the writer knows");
    writer.text(key, value.get<std::string>());
  }
}

void put_tensor(fake::GgufWriter& writer, const Json& tensor) {
  const std::string name = tensor["gguf"];
  if (tensor.contains("values")) {
    const auto values = tensor["values"].get<std::vector<float>>();
    writer.tensor(name, 0, static_cast<std::int64_t>(values.size()), ops::DType::kF32, values);
    return;
  }
  std::vector<float> values = folder_values(tensor);
  const auto rows = tensor["shape"][0].get<std::size_t>();
  if (tensor.contains("turned")) values = turned(values, rows, tensor["turned"]);
  for (float& value : values) value += tensor.value("add", 0.0F);
  const bool is_vector = tensor["shape"].size() == 1;
  writer.tensor(name, is_vector ? 0 : static_cast<std::int64_t>(rows),
                static_cast<std::int64_t>(is_vector ? rows : values.size() / rows),
                ops::DType::kF32, values);
}

void append(fake::Bytes& bytes, const void* from, std::size_t size) {
  const auto* at = static_cast<const std::byte*>(from);
  bytes.insert(bytes.end(), at, at + size);
}

}  // namespace

const Json& architecture_cases() {
  static const Json kCases = [] {
    const char* root = std::getenv("KANTHA_SOURCE_DIR");
    std::ifstream file(std::string(root == nullptr ? "." : root) +
                       "/tests/golden/architectures.json");
    CHECK(file.good(), "tests/golden/architectures.json is there");
    return Json::parse(file).at("cases");
  }();
  return kCases;
}

std::vector<float> tiny_weights(const std::string& name, std::size_t count, float unit,
                                float center) {
  std::vector<float> values(count);
  const std::uint64_t seed = name_hash(name);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15 + seed;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
    values[i] = (static_cast<float>((x >> 33) % 255) - 127) * unit + center;
  }
  return values;
}

fake::GgufWriter tiny_gguf(const Json& test) {
  fake::GgufWriter writer;
  writer.text("general.architecture", test["gguf"]["architecture"].get<std::string>());
  writer.text("general.name", test["name"].get<std::string>());
  for (const auto& [key, pair] : test["gguf"]["keys"].items()) {
    put_key(writer, key, pair[0], pair[1]);
  }
  std::vector<std::string> tokens;
  const auto count = test["config"]["vocab_size"].get<std::size_t>();
  for (std::size_t i = 0; i < count; ++i) tokens.push_back("t" + std::to_string(i));
  writer.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "smollm");
  writer.texts("tokenizer.ggml.tokens", tokens);
  for (const Json& tensor : test["tensors"]) put_tensor(writer, tensor);
  return writer;
}

fake::Bytes tiny_safetensors(const Json& test, const std::string& dtype, std::size_t shard,
                             std::size_t shards) {
  Json header = Json::object();
  fake::Bytes data;
  std::size_t index = 0;
  for (const Json& tensor : test["tensors"]) {
    if (!tensor.contains("hf") || index++ % shards != shard) continue;
    const std::size_t begin = data.size();
    for (const float value : folder_values(tensor)) {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      const auto half = dtype == "F16" ? f16_of(value) : static_cast<std::uint16_t>(bits >> 16);
      append(data, dtype == "F32" ? static_cast<const void*>(&value) : &half,
             dtype == "F32" ? sizeof value : sizeof half);
    }
    header[tensor["hf"].get<std::string>()] = {
        {"dtype", dtype}, {"shape", tensor["shape"]}, {"data_offsets", {begin, data.size()}}};
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  fake::Bytes bytes;
  append(bytes, &length, sizeof length);
  append(bytes, text.data(), text.size());
  append(bytes, data.data(), data.size());
  return bytes;
}

std::string tiny_tokenizer_json(std::int32_t size) {
  Json vocabulary = Json::object();
  for (std::int32_t i = 0; i < size; ++i) vocabulary["t" + std::to_string(i)] = i;
  const Json tokenizer = {
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"added_tokens", Json::array()}};
  return tokenizer.dump();
}

}  // namespace kantha::golden
