#include "engine/model/model_report.h"

#include <fmt/format.h>

#include <utility>

#include "engine/model/gguf_file.h"
#include "engine/model/llama_from_gguf.h"
#include "engine/model/load_folder.h"
#include "engine/model/model_file.h"
#include "engine/model/vocabulary_from_gguf.h"

namespace kantha::model {
namespace {

void count(const ops::TensorView& view, ModelReport& report) {
  if (view.empty()) return;
  TypeCount& type = report.types[std::string(ops::dtype_name(view.type))];
  ++type.tensors;
  type.bytes += static_cast<std::int64_t>(view.bytes.size());
  report.parameters += view.rows * view.cols;
}

void refuse(const Error& error, ModelReport& report) {
  if (report.refusal.empty()) report.refusal = error.message;
}

/// Takes a result's value, or notes why there is none.
template <class T>
std::optional<T> taken(Result<T> result, ModelReport& report) {
  if (result.ok()) return std::move(result).value();
  refuse(result.error(), report);
  return std::nullopt;
}

void read_gguf(const ModelFile& file, ModelReport& report) {
  report.file_bytes = static_cast<std::int64_t>(file.bytes().size());
  const auto gguf = taken(parse_gguf(file.bytes()), report);
  if (!gguf) return;
  report.format = fmt::format("GGUF {}", gguf->version);
  for (const GgufTensor& tensor : gguf->tensors) count(tensor.view, report);
  const auto text = [&](std::string_view key) {
    const auto value = gguf->metadata.text(key);
    return value.ok() ? std::string(value->value_or("")) : std::string();
  };
  report.architecture = text("general.architecture");
  report.name = text("general.name");
  report.config = taken(llama_config_from_gguf(gguf->metadata), report);
  if (report.config) {
    // With what only tensors say.
    const auto model = taken(llama_from_gguf(*gguf), report);
    if (model) report.config = model->config;
  }
  report.vocabulary = taken(vocabulary_from_gguf(gguf->metadata), report);
}

void read_folder(const std::string& path, ModelReport& report) {
  report.format = "Hugging Face folder";
  auto loaded = taken(load_folder(path), report);
  if (!loaded) return;
  report.architecture = loaded->architecture;
  report.name = loaded->name;
  report.file_bytes = loaded->file_bytes;
  const LlamaModel& model = loaded->llama;
  const bool is_tied = model.output.bytes.data() == model.embedding.bytes.data();
  count(model.embedding, report);
  if (!is_tied) count(model.output, report);
  count(model.output_norm, report);
  for (const LlamaLayer& layer : model.layers) {
    for (const auto* view : {&layer.attention_norm, &layer.q, &layer.k, &layer.v, &layer.o,
                             &layer.ffn_norm, &layer.gate, &layer.up, &layer.down, &layer.q_bias,
                             &layer.k_bias, &layer.v_bias, &layer.o_bias, &layer.q_norm,
                             &layer.k_norm, &layer.post_attention_norm, &layer.post_ffn_norm}) {
      count(*view, report);
    }
  }
  report.config = model.config;
  report.vocabulary = std::move(loaded->vocabulary);
}

std::int64_t kv_bytes(const LlamaConfig& config, bool windowed) {
  constexpr std::int64_t kHalf = 2;
  std::int64_t layers = 0;
  for (std::int32_t i = 0; i < config.layers; ++i) {
    if ((config.window(i) > 0) == windowed) ++layers;
  }
  return layers * 2 * config.kv_width() * kHalf;
}

}  // namespace

ModelReport inspect_model(const std::string& path) {
  ModelReport report;
  if (is_folder(path)) {
    read_folder(path, report);
    return report;
  }
  const auto file = taken(ModelFile::open(path), report);
  if (file) read_gguf(**file, report);
  return report;
}

std::int64_t kv_bytes_full(const LlamaConfig& config) { return kv_bytes(config, false); }
std::int64_t kv_bytes_windowed(const LlamaConfig& config) { return kv_bytes(config, true); }

}  // namespace kantha::model
