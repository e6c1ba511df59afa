#include <cmath>

#include "base/check.h"
#include "base/rng.h"
#include "tests/fake/gguf_writer.h"

namespace kantha::fake {
namespace {

constexpr std::string_view kChatMl =
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

constexpr std::int32_t kNormal = 1;
constexpr std::int32_t kControl = 3;

/// Uniform in ±reach, from a seed and the tensor's name.
std::vector<float> random_values(std::uint64_t seed, std::string_view name, std::int64_t count,
                                 double reach) {
  std::uint64_t stream = seed;
  for (const char c : name) stream = random_bits(stream, static_cast<unsigned char>(c));
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((random_unit(stream, i) * 2 - 1) * reach);
  }
  return values;
}

void append_utf8(std::string& text, std::uint32_t point) {
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else {
    text += static_cast<char>(0xc0 | point >> 6);
    text += static_cast<char>(0x80 | (point & 0x3f));
  }
}

/// Byte-level BPE's printable letter for each byte: printable Latin-1 stands for itself, the others
/// are numbered from U+0100 on.
std::vector<std::string> byte_alphabet() {
  std::vector<std::string> letters;
  std::uint32_t next = 0x100;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const bool is_printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) ||
                              (byte >= 0xae && byte <= 0xff);
    std::string letter;
    append_utf8(letter, is_printable ? byte : next++);
    letters.push_back(letter);
  }
  return letters;
}

void put_vocabulary(GgufWriter& writer, std::int32_t size) {
  std::vector<std::string> tokens = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
  for (const std::string& letter : byte_alphabet()) tokens.push_back(letter);
  CHECK(size >= static_cast<std::int32_t>(tokens.size()), "control and byte tokens must fit");
  std::vector<std::string> merges;
  for (char left = 'a'; left <= 'z'; ++left) {
    for (char right = 'a'; right <= 'z' && std::ssize(tokens) < size; ++right) {
      merges.push_back(std::string{left, ' ', right});
      tokens.push_back(std::string{left, right});
    }
  }
  CHECK(std::ssize(tokens) == size, "vocabulary is at most 259 + 26 * 26");
  std::vector<std::int32_t> types(tokens.size(), kNormal);
  types[0] = types[1] = types[2] = kControl;
  writer.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "smollm");
  writer.texts("tokenizer.ggml.tokens", tokens).i32s("tokenizer.ggml.token_type", types);
  writer.texts("tokenizer.ggml.merges", merges);
  writer.u32("tokenizer.ggml.bos_token_id", 1).u32("tokenizer.ggml.eos_token_id", 2);
  writer.u32("tokenizer.ggml.unknown_token_id", 0).u32("tokenizer.ggml.padding_token_id", 2);
  writer.flag("tokenizer.ggml.add_bos_token", false);
  writer.text("tokenizer.chat_template", kChatMl);
}

void put_config(GgufWriter& writer, const TinyLlama& shape) {
  writer.text("general.architecture", "llama").text("general.name", "Tiny Llama");
  writer.u32("llama.block_count", static_cast<std::uint32_t>(shape.layers));
  writer.u32("llama.context_length", static_cast<std::uint32_t>(shape.context));
  writer.u32("llama.embedding_length", static_cast<std::uint32_t>(shape.width));
  writer.u32("llama.feed_forward_length", static_cast<std::uint32_t>(shape.ffn_width));
  writer.u32("llama.attention.head_count", static_cast<std::uint32_t>(shape.heads));
  writer.u32("llama.attention.head_count_kv", static_cast<std::uint32_t>(shape.kv_heads));
  writer.f32("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  writer.f32("llama.rope.freq_base", 10000.0F);
}

}  // namespace

GgufWriter tiny_llama_writer(const TinyLlama& shape) {
  GgufWriter writer;
  put_config(writer, shape);
  put_vocabulary(writer, shape.vocabulary);

  const auto matrix = [&](const std::string& name, std::int64_t rows, std::int64_t cols) {
    const double reach = 1.7 / std::sqrt(static_cast<double>(cols));
    writer.tensor(name, rows, cols, shape.type,
                  random_values(shape.seed, name, rows * cols, reach));
  };
  const auto norm = [&](const std::string& name) {
    std::vector<float> values = random_values(shape.seed, name, shape.width, 0.2);
    for (float& value : values) value += 1;
    writer.tensor(name, 0, shape.width, ops::DType::kF32, values);
  };
  const std::int64_t width = shape.width;
  const std::int64_t kv_width = width / shape.heads * shape.kv_heads;
  matrix("token_embd.weight", shape.vocabulary, width);
  for (std::int32_t i = 0; i < shape.layers; ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    norm(layer + "attn_norm.weight");
    matrix(layer + "attn_q.weight", width, width);
    matrix(layer + "attn_k.weight", kv_width, width);
    matrix(layer + "attn_v.weight", kv_width, width);
    matrix(layer + "attn_output.weight", width, width);
    norm(layer + "ffn_norm.weight");
    matrix(layer + "ffn_gate.weight", shape.ffn_width, width);
    matrix(layer + "ffn_up.weight", shape.ffn_width, width);
    matrix(layer + "ffn_down.weight", width, shape.ffn_width);
  }
  norm("output_norm.weight");
  if (!shape.tied) matrix("output.weight", shape.vocabulary, width);
  return writer;
}

Bytes tiny_llama(const TinyLlama& shape) { return tiny_llama_writer(shape).finish(); }

}  // namespace kantha::fake
