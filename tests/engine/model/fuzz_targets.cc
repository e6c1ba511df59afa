#include "tests/engine/model/fuzz_targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "engine/exec/forward_factory.h"
#include "engine/model/gguf_file.h"
#include "engine/model/llama_from_folder.h"
#include "engine/model/model_from_bytes.h"
#include "engine/model/safetensors_file.h"
#include "engine/model/vocabulary_from_tokenizer_json.h"
#include "engine/text/tokenizer.h"
#include "tests/golden/lone_sequence.h"
#include "tests/golden/tiny_architecture.h"

namespace kantha::model {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

void read_all(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0;
  for (const std::byte b : bytes) sum += std::to_integer<std::uint64_t>(b);
  CHECK(sum <= 255 * bytes.size());
}

void use_vocabulary(const text::Vocabulary& vocabulary) {
  const auto tokenizer = text::Tokenizer::build(vocabulary);
  if (!tokenizer.ok()) {
    CHECK(!tokenizer.error().message.empty());
    return;
  }
  constexpr std::string_view kText = "Grüße 1234 t7 <|im_end|>  don't\n\n中";
  for (const bool parse_special : {false, true}) {
    const std::vector<TokenId> ids = tokenizer->encode(kText, parse_special);
    for (const TokenId id : ids) CHECK(id >= 0 && id < tokenizer->size());
    tokenizer->decode(ids, true);
  }
}

void compute(const LlamaModel& model) {
  constexpr std::int32_t kBlocks = 8;
  const auto forward =
      exec::make_forward_ref(model, {.kv = {.block_size = 16, .block_count = kBlocks},
                                     .rows_max = 4,
                                     .logit_rows_max = 4,
                                     .context = 32});
  if (!forward.ok()) {
    CHECK(!forward.error().message.empty());
    return;
  }
  if ((*forward)->groups().size() > kBlocks) return;
  const auto logits = golden::lone_logits(**forward, {0, 2, 1}, 16, 3, 2);
  CHECK(std::cmp_equal(logits.size(), model.config.vocabulary));
}

void check_refusal(const Error& error) {
  CHECK(!error.message.empty());
  CHECK(error.code != Code::kInternal);
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A GGUF up to its first weight.
std::string head_of(const fake::Bytes& file) {
  const auto gguf = parse_gguf(file);
  CHECK(gguf.ok());
  std::size_t end = file.size();
  for (const GgufTensor& tensor : gguf->tensors) {
    end = std::min(end, static_cast<std::size_t>(tensor.view.bytes.data() - file.data()));
  }
  return text_of(std::span(file).first(end));
}

}  // namespace

void use_model(const LoadedModel& loaded) {
  const LlamaModel& model = loaded.llama;
  for (const auto* view : {&model.embedding, &model.output, &model.output_norm}) {
    read_all(view->bytes);
  }
  for (const LlamaLayer& layer : model.layers) {
    for (const auto* view : {&layer.attention_norm, &layer.q, &layer.k, &layer.v, &layer.o,
                             &layer.ffn_norm, &layer.gate, &layer.up, &layer.down, &layer.q_bias,
                             &layer.k_bias, &layer.v_bias, &layer.o_bias, &layer.q_norm,
                             &layer.k_norm, &layer.post_attention_norm, &layer.post_ffn_norm}) {
      read_all(view->bytes);
    }
  }
  if (model.config.vocabulary > 2) compute(model);
  use_vocabulary(loaded.vocabulary);
}

bool fuzz_gguf(std::span<const std::byte> bytes) {
  const auto loaded = model_from_bytes(bytes);
  if (!loaded.ok()) {
    check_refusal(loaded.error());
    return false;
  }
  use_model(*loaded);
  return true;
}

void fuzz_safetensors(std::string_view file) {
  const auto parsed = parse_safetensors(bytes_of(file));
  if (!parsed.ok()) {
    check_refusal(parsed.error());
    return;
  }
  for (const SafeTensor& tensor : parsed->tensors) read_all(tensor.view.bytes);
}

void fuzz_tokenizer_json(std::string_view text) {
  auto json = parse_json(text, {.depth_max = 64, .nodes_max = text.size(), .bytes_max = 1 << 20});
  if (!json.ok()) return;
  TokenizerFiles files;
  files.tokenizer = *std::move(json);
  files.settings = {{"bos_token", "t0"}, {"eos_token", {{"content", "t1"}}}};
  files.end_tokens = {2};
  files.size = 320;
  const auto vocabulary = vocabulary_from_tokenizer_json(files);
  if (!vocabulary.ok()) {
    check_refusal(vocabulary.error());
    return;
  }
  CHECK(vocabulary->tokens.size() == 320 && vocabulary->types.size() == 320);
  use_vocabulary(*vocabulary);
}

void fuzz_config(std::string_view text) {
  const auto json =
      parse_json(text, {.depth_max = 64, .nodes_max = text.size(), .bytes_max = 1 << 20});
  if (!json.ok()) return;
  const auto config = config_from_json(*json);
  if (!config.ok()) {
    check_refusal(config.error());
    return;
  }
  CHECK(config->config.rope_dims >= 2);
}

std::vector<std::string> gguf_corpus() {
  std::vector<std::string> corpus;
  for (const Json& test : golden::architecture_cases()) {
    if (test.contains("gguf")) corpus.push_back(head_of(golden::tiny_gguf(test).finish()));
  }
  for (const auto type : {ops::DType::kF32, ops::DType::kQ4_1, ops::DType::kQ8_0}) {
    corpus.push_back(head_of(fake::tiny_llama({.layers = 1,
                                               .width = 32,
                                               .heads = 2,
                                               .kv_heads = 1,
                                               .ffn_width = 32,
                                               .vocabulary = 260,
                                               .type = type})));
  }
  return corpus;
}

std::vector<std::string> safetensors_corpus() {
  std::vector<std::string> corpus;
  for (const std::string_view header :
       {R"({"a":{"dtype":"F32","shape":[2,4],"data_offsets":[0,32]},)"
        R"("b":{"dtype":"BF16","shape":[8],"data_offsets":[32,48]}})",
        R"({"__metadata__":{"format":"pt"},"s":{"dtype":"F16","shape":[],"data_offsets":[0,2]},)"
        R"("b":{"dtype":"BF16","shape":[1,23],"data_offsets":[2,48]}}   )",
        "{}"}) {
    const std::uint64_t length = header.size();
    std::string file(reinterpret_cast<const char*>(&length), sizeof length);
    file += header;
    if (header.size() > 2) file.resize(file.size() + 48, '\1');
    corpus.push_back(std::move(file));
  }
  return corpus;
}

std::vector<std::string> tokenizer_json_corpus() {
  std::vector<std::string> corpus = {golden::tiny_tokenizer_json(8)};
  corpus.emplace_back(R"json({"model": {"type": "BPE", "unk_token": null, "ignore_merges": true,
    "vocab": {"a": 3, "b": 4, "ab": 5, "Ġ": 6, "Ġa": 7}, "merges": ["a b", ["Ġ", "a"]]},
    "normalizer": {"type": "NFC"},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
      {"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}|\\s+(?!\\S)"}, "behavior": "Isolated"},
      {"type": "Digits", "individual_digits": true}, {"type": "Punctuation"},
      {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}]},
    "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "t0"}}]},
    "added_tokens": [{"id": 0, "content": "t0", "special": true},
                     {"id": 9, "content": "<u>", "special": false}]})json");
  Json pieces = Json::parse(R"json({"model": {"type": "BPE", "byte_fallback": true,
    "unk_token": "<unk>", "vocab": {"<unk>": 0, "▁": 300, "a": 301, "▁a": 302}, "merges": ["▁ a"]},
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
      {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
    "pre_tokenizer": {"type": "Metaspace", "prepend_scheme": "first"}, "added_tokens": []})json");
  for (int byte = 0; byte < 256; ++byte) {
    pieces["model"]["vocab"][fmt::format("<0x{:02X}>", byte)] = byte + 1;
  }
  corpus.push_back(pieces.dump());
  return corpus;
}

std::vector<std::string> config_corpus() {
  std::vector<std::string> corpus;
  for (const Json& test : golden::architecture_cases()) corpus.push_back(test["config"].dump());
  return corpus;
}

}  // namespace kantha::model
