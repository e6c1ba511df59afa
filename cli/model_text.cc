#include "cli/model_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace kantha::cli {
namespace {

using model::LlamaConfig;
using model::ModelReport;

/// One aligned line; nothing for an empty value.
std::string line(std::string_view name, const std::string& value) {
  return value.empty() ? "" : fmt::format("{:<13} {}\n", name, value);
}

std::string mebibytes(std::int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string shape(const LlamaConfig& config) {
  return fmt::format("{} layers, width {}, {} heads, {} KV heads of {}, feed-forward {}",
                     config.layers, config.width, config.heads, config.kv_heads, config.head_size,
                     config.ffn_width);
}

std::string context(const LlamaConfig& config) {
  std::string text = fmt::format("{} positions", config.context);
  if (config.rope_original_context > 0 && config.rope_original_context < config.context) {
    text += fmt::format(", stretched from {}", config.rope_original_context);
  }
  std::int32_t windowed = 0;
  for (std::int32_t i = 0; i < config.layers; ++i) windowed += config.window(i) > 0 ? 1 : 0;
  if (windowed > 0) {
    text += fmt::format("; {} of {} layers see the last {} only", windowed, config.layers,
                        config.sliding_window);
  }
  return text;
}

std::string kv_line(const LlamaConfig& config) {
  const std::int64_t full = model::kv_bytes_full(config);
  const std::int64_t windowed = model::kv_bytes_windowed(config);
  const std::int64_t most =
      full * config.context +
      windowed * std::min<std::int64_t>(config.sliding_window, config.context);
  std::string text = fmt::format("{} bytes a token", full + windowed);
  if (windowed > 0) text += fmt::format(" within the window, {} beyond it", full);
  return text + fmt::format("; {} for the whole context", mebibytes(most));
}

/// The largest share first.
std::string weights(const ModelReport& report) {
  std::vector<std::pair<std::string, model::TypeCount>> types(report.types.begin(),
                                                              report.types.end());
  std::ranges::sort(types, [](const auto& a, const auto& b) {
    return std::pair(-a.second.bytes, a.first) < std::pair(-b.second.bytes, b.first);
  });
  std::string text;
  for (const auto& [name, type] : types) {
    text += fmt::format("{}{} × {} ({})", text.empty() ? "" : ", ", type.tensors, name,
                        mebibytes(type.bytes));
  }
  return text;
}

std::string parameters(const ModelReport& report) {
  if (report.parameters == 0) return "";
  return fmt::format("{:.1f} million in {}", static_cast<double>(report.parameters) / 1e6,
                     mebibytes(report.file_bytes));
}

std::string tokenizer(const text::Vocabulary& vocabulary) {
  std::string text = fmt::format("{} tokens, {}", vocabulary.tokens.size(), vocabulary.model);
  if (!vocabulary.pre.empty()) text += ", split as " + vocabulary.pre;
  if (vocabulary.add_bos) text += ", BOS first";
  return text;
}

}  // namespace

std::string model_text(const ModelReport& report, const std::string& refusal,
                       const std::string& chat_refusal) {
  std::string text = line("format", report.format);
  text += line("architecture", report.architecture);
  text += line("name", report.name);
  text += line("parameters", parameters(report));
  text += line("weights", weights(report));
  if (report.config) {
    text += line("shape", shape(*report.config));
    text += line("context", context(*report.config));
    text += line("KV cache", kv_line(*report.config));
  }
  if (report.vocabulary) {
    text += line("tokenizer", tokenizer(*report.vocabulary));
    text +=
        line("template", report.vocabulary->chat_template.empty()
                             ? "none: completions only"
                             : fmt::format("{} bytes", report.vocabulary->chat_template.size()));
  }
  text += line("chats", chat_refusal.empty() ? "" : "no: " + chat_refusal);
  text += line("runs", refusal.empty() ? "yes" : "no: " + refusal);
  return text;
}

}  // namespace kantha::cli
