#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "engine/exec/forward_factory.h"
#include "engine/model/load_model.h"
#include "engine/model/model_from_bytes.h"
#include "tests/golden/lone_sequence.h"
#include "tests/golden/tiny_architecture.h"

/// Every architecture against transformers' logits (make_architectures.py made architectures.json),
/// from a GGUF and from a Hugging Face folder, on each Forward.
namespace kantha::golden {
namespace {

using exec::Forward;
using exec::ForwardOptions;

/// Largest error of a logit, as a part of the largest logit of its case.
constexpr double kRefErrorMax = 5e-5;
constexpr double kCpuErrorMax = 1e-2;  // f16 keys and values

using MakeForward = Result<std::unique_ptr<Forward>> (*)(const model::LlamaModel&,
                                                         const ForwardOptions&);

ForwardOptions options_of(const Json& test) {
  return {.kv = {.block_size = 16, .block_count = 32},
          .rows_max = 32,
          .logit_rows_max = 32,
          .threads = 2,
          .context = test["context"]};
}

/// Largest error of a case's logits, as a part of its largest logit.
double error_of(const model::LlamaModel& model, const Json& test, MakeForward make,
                std::size_t chunk) {
  auto made = make(model, options_of(test));
  EXPECT_TRUE(made.ok()) << test["name"] << ": " << made.error().to_string();
  if (!made.ok()) return 1e9;
  double error = 0;
  double largest = 0;
  for (const Json& prompt : test["prompts"]) {
    const auto logits = lone_logits(**made, prompt["ids"].get<std::vector<TokenId>>(), 16, chunk);
    const auto vocabulary = test["config"]["vocab_size"].get<std::size_t>();
    for (std::size_t i = 0; i < prompt["rows"].size(); ++i) {
      const auto row = prompt["rows"][i].get<std::size_t>();
      for (std::size_t token = 0; token < vocabulary; ++token) {
        const double wanted = prompt["logits"][i][token];
        error = std::max(error, std::fabs(double{logits[row * vocabulary + token]} - wanted));
        largest = std::max(largest, std::fabs(wanted));
      }
    }
  }
  return error / largest;
}

/// Holds a loaded case against its logits on both paths.
void expect_logits(const model::LlamaModel& model, const Json& test, const char* source) {
  const double ref = error_of(model, test, exec::make_forward_ref, 32);
  const double cpu = error_of(model, test, exec::make_forward_cpu, 32);
  std::printf("%-24s %-12s ref %.1e cpu %.1e\n", test["name"].get<std::string>().c_str(), source,
              ref, cpu);
  EXPECT_LE(ref, kRefErrorMax) << test["name"] << " " << source;
  EXPECT_LE(cpu, kCpuErrorMax) << test["name"] << " " << source;
}

TEST(Architectures, GgufFilesComputeWhatTransformersComputes) {
  std::size_t count = 0;
  for (const Json& test : architecture_cases()) {
    if (!test.contains("gguf")) continue;
    const fake::Bytes bytes = tiny_gguf(test).finish();
    const auto loaded = model::model_from_bytes(bytes);
    ASSERT_TRUE(loaded.ok()) << test["name"] << ": " << loaded.error().to_string();
    expect_logits(loaded->llama, test, "GGUF");
    ++count;
  }
  EXPECT_GE(count, 17U);
}

/// A folder of its own that goes when the test ends.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("kantha_architectures_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  void put(const std::string& name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  void put(const std::string& name, const fake::Bytes& bytes) const {
    put(name, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  void put_model(const Json& test, const std::string& dtype) const {
    put("config.json", test["config"].dump());
    put("tokenizer.json", tiny_tokenizer_json(test["config"]["vocab_size"]));
    put("model.safetensors", tiny_safetensors(test, dtype));
  }
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(Architectures, FoldersComputeWhatTransformersComputes) {
  const char* dtypes[] = {"F32", "F16", "BF16"};
  std::size_t count = 0;
  for (const Json& test : architecture_cases()) {
    const Folder folder;
    const char* dtype = dtypes[count++ % 3];
    folder.put_model(test, dtype);
    const auto loaded = model::load_model(folder.path());
    ASSERT_TRUE(loaded.ok()) << test["name"] << ": " << loaded.error().to_string();
    expect_logits(loaded->llama, test, dtype);
  }
  EXPECT_GE(count, 20U);
}

TEST(Architectures, AChunkedPromptHasTheSameBits) {
  for (const Json& test : architecture_cases()) {
    const Folder folder;
    folder.put_model(test, "BF16");
    const auto loaded = model::load_model(folder.path());
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    const auto ids = test["prompts"][0]["ids"].get<std::vector<TokenId>>();
    auto options = options_of(test);
    const auto whole =
        lone_logits(**exec::make_forward_cpu(loaded->llama, options), ids, 16, ids.size());
    options.threads = 1;
    for (const std::size_t chunk : {std::size_t{1}, std::size_t{5}, std::size_t{9}}) {
      const auto parts =
          lone_logits(**exec::make_forward_cpu(loaded->llama, options), ids, 16, chunk);
      EXPECT_EQ(parts, whole) << test["name"] << " in chunks of " << chunk;
    }
  }
}

/// What must not go unnoticed: each change to a case's config moves its logits out of bounds.
TEST(Architectures, EveryRuleOfAnArchitectureCounts) {
  struct Change {
    const char* name;
    void (*make)(model::LlamaModel&);
  };
  const Change changes[] = {
      {"llama linear", [](auto& m) { m.config.rope_divisors.clear(); }},
      {"llama 3", [](auto& m) { m.config.rope_divisors.clear(); }},
      {"llama yarn", [](auto& m) { m.config.rope_magnitude = 1; }},
      {"llama tied with biases", [](auto& m) { m.layers[1].o_bias = {}; }},
      {"llama tied with biases", [](auto& m) { m.layers[1].k_bias = {}; }},
      {"mistral 3", [](auto& m) { m.config.query_growth = 0; }},
      {"qwen2", [](auto& m) { m.layers[1].q_bias = {}; }},
      {"qwen3", [](auto& m) { m.layers[1].q_norm = m.layers[1].k_norm = {}; }},
      {"gemma2", [](auto& m) { m.config.attention_cap = 0; }},
      {"gemma2", [](auto& m) { m.config.logit_cap = 0; }},
      {"gemma2", [](auto& m) { m.config.sliding_window = 0; }},
      {"gemma2", [](auto& m) { m.config.gate = model::GateActivation::kSilu; }},
      {"gemma2", [](auto& m) { m.layers[1].post_ffn_norm = {}; }},
      {"gemma3", [](auto& m) { m.config.rope_base_windowed = 0; }},
      {"gemma3", [](auto& m) { m.config.embedding_scale = 1; }},
      {"phi3 part", [](auto& m) { m.config.rope_dims = m.config.head_size; }},
      {"phi3 long", [](auto& m) { m.config.rope_divisors_long.clear(); }},
      {"granite", [](auto& m) { m.config.residual_scale = 1; }},
      {"granite", [](auto& m) { m.config.attention_scale = 0; }},
      {"granite", [](auto& m) { m.config.logit_scale = 1; }},
      {"olmo2", [](auto& m) { m.layers[1].post_attention_norm = {}; }},
      {"smollm3", [](auto& m) { m.config.unrotated.clear(); }},
  };
  for (const Change& change : changes) {
    const auto& cases = architecture_cases();
    const auto test =
        std::ranges::find_if(cases, [&](const Json& c) { return c["name"] == change.name; });
    ASSERT_NE(test, cases.end()) << change.name;
    const fake::Bytes bytes = tiny_gguf(*test).finish();
    auto loaded = model::model_from_bytes(bytes);
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    change.make(loaded->llama);
    EXPECT_GT(error_of(loaded->llama, *test, exec::make_forward_ref, 32), 20 * kRefErrorMax)
        << change.name << ", change " << &change - changes;
  }
}

}  // namespace
}  // namespace kantha::golden
