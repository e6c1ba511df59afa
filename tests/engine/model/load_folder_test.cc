#include "engine/model/load_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/rng.h"
#include "engine/model/llama_from_folder.h"
#include "engine/model/vocabulary_from_tokenizer_json.h"
#include "tests/golden/tiny_architecture.h"

namespace kantha::model {
namespace {

const Json& golden(std::string_view name) {
  const Json& cases = golden::architecture_cases();
  return *std::ranges::find_if(cases, [&](const Json& test) { return test["name"] == name; });
}

class LoadFolder : public testing::Test {
 protected:
  LoadFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("kantha_load_folder_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
    config_ = golden("llama")["config"];
    put("config.json", config_.dump());
    put("tokenizer.json", golden::tiny_tokenizer_json(config_["vocab_size"]));
    put("model.safetensors", bytes("BF16"));
  }
  ~LoadFolder() override { std::filesystem::remove_all(path_); }

  static std::string bytes(const std::string& dtype, std::size_t shard = 0, std::size_t of = 1) {
    const fake::Bytes file = golden::tiny_safetensors(golden("llama"), dtype, shard, of);
    return {reinterpret_cast<const char*>(file.data()), file.size()};
  }
  void put(const std::string& name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  void drop(const std::string& name) const { std::filesystem::remove(path_ / name); }
  /// "loaded", or what is said instead.
  std::string said() const {
    const auto loaded = load_folder(path_);
    return loaded.ok() ? "loaded" : loaded.error().to_string();
  }
  /// Two shards and their index.
  Json put_shards() const {
    drop("model.safetensors");
    Json map = Json::object();
    for (std::size_t shard = 0; shard < 2; ++shard) {
      const std::string name = "model-0000" + std::to_string(shard + 1) + "-of-00002.safetensors";
      put(name, bytes("F32", shard, 2));
      std::size_t index = 0;
      for (const Json& tensor : golden("llama")["tensors"]) {
        if (tensor.contains("hf") && index++ % 2 == shard) {
          map[tensor["hf"].get<std::string>()] = name;
        }
      }
    }
    const Json json = {{"metadata", {{"total_size", 1}}}, {"weight_map", map}};
    put("model.safetensors.index.json", json.dump());
    return json;
  }

  std::filesystem::path path_;
  Json config_;
};

TEST_F(LoadFolder, AFolderIsAModel) {
  const auto loaded = load_folder(path_);
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  EXPECT_EQ(loaded->architecture, "llama");
  EXPECT_EQ(loaded->name, path_.filename());
  EXPECT_EQ(loaded->llama.config.rope_pairs, RopePairs::kHalves);
  EXPECT_EQ(loaded->llama.layers[0].q.type, ops::DType::kBF16);
  EXPECT_EQ(loaded->vocabulary.tokens[7], "t7");
  EXPECT_EQ(loaded->vocabulary.pre, "gpt-2");
  EXPECT_EQ(loaded->vocabulary.eos, 2) << "from config.json";
}

TEST_F(LoadFolder, ShardsGiveTheSameTensorsAsOneFile) {
  put_shards();
  const auto loaded = load_folder(path_);
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  EXPECT_EQ(loaded->shards.size(), 2U);
  EXPECT_EQ(loaded->llama.layers.size(), 3U);
}

TEST_F(LoadFolder, RefusesShardsThatDoNotFitTheirIndex) {
  const Json index = put_shards();
  const auto with = [&](const std::function<void(Json&)>& change) {
    Json changed = index;
    change(changed["weight_map"]);
    put("model.safetensors.index.json", changed.dump());
    return said();
  };
  EXPECT_NE(with([](Json& map) { map["x"] = "../secret.safetensors"; }).find("no plain file name"),
            std::string::npos);
  EXPECT_NE(with([](Json& map) { map["x"] = ".hidden"; }).find("no plain file name"),
            std::string::npos);
  EXPECT_NE(
      with([](Json& map) { map["x"] = map.begin().value(); }).find("tensor \"x\" is not in it"),
      std::string::npos);
  EXPECT_NE(with([](Json& map) { map["x"] = "model-3.safetensors"; }).find("model-3.safetensors"),
            std::string::npos);
  EXPECT_NE(with([](Json& map) { map = 3; }).find("weight_map: expected an object"),
            std::string::npos);
  put("model.safetensors.index.json", index.dump());
  put("model-00002-of-00002.safetensors", bytes("F32"));
  EXPECT_NE(said().find("is in two files"), std::string::npos);
  drop("model-00002-of-00002.safetensors");
  EXPECT_NE(said().find("model-00002-of-00002.safetensors"), std::string::npos);
}

TEST_F(LoadFolder, SaysWhichFileIsMissingOrDamaged) {
  const std::string whole = bytes("BF16");
  put("model.safetensors", std::string_view(whole).substr(0, whole.size() - 4096));
  EXPECT_NE(said().find("model.safetensors: the header lists"), std::string::npos) << said();
  put("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
  EXPECT_NE(said().find("Git LFS pointer"), std::string::npos) << said();
  drop("model.safetensors");
  EXPECT_NE(said().find("model.safetensors: cannot open"), std::string::npos) << said();
  put("model.safetensors", whole);
  put("tokenizer.json", "{");
  EXPECT_NE(said().find("tokenizer.json"), std::string::npos);
  drop("tokenizer.json");
  EXPECT_NE(said().find("tokenizer.json: no such file"), std::string::npos);
  put("config.json", "[]");
  EXPECT_NE(said().find("config.json"), std::string::npos);
}

TEST_F(LoadFolder, TiedHeadsFollowTheConfig) {
  config_["tie_word_embeddings"] = true;
  put("config.json", config_.dump());
  auto loaded = load_folder(path_);
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  EXPECT_EQ(loaded->llama.output.bytes.data(), loaded->llama.embedding.bytes.data())
      << "an lm_head that is there is not used";
  config_.erase("tie_word_embeddings");
  put("config.json", config_.dump());
  loaded = load_folder(path_);
  ASSERT_TRUE(loaded.ok());
  EXPECT_NE(loaded->llama.output.bytes.data(), loaded->llama.embedding.bytes.data());
  Json headless = golden("llama");
  std::erase_if(headless["tensors"].get_ref<Json::array_t&>(),
                [](const Json& tensor) { return tensor["hf"] == "lm_head.weight"; });
  const fake::Bytes file = golden::tiny_safetensors(headless, "F32");
  put("model.safetensors", {reinterpret_cast<const char*>(file.data()), file.size()});
  EXPECT_EQ(said(), "loaded");
  config_["tie_word_embeddings"] = false;
  put("config.json", config_.dump());
  EXPECT_NE(said().find("lm_head.weight: is missing"), std::string::npos);
}

TEST_F(LoadFolder, AllEndTokensCountAndGenerationConfigGivesNothingElse) {
  config_["eos_token_id"] = 5;
  put("config.json", config_.dump());
  put("generation_config.json", R"({"eos_token_id": [6, 7], "temperature": 0.1})");
  auto loaded = load_folder(path_);
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  EXPECT_EQ(loaded->vocabulary.eos, 6);
  EXPECT_EQ(loaded->vocabulary.ends, (std::vector<TokenId>{7, 5}));
  put("generation_config.json", R"({"eos_token_id": 99})");
  EXPECT_NE(said().find("eos_token_id: expected an id below 48, got 99"), std::string::npos);
  put("generation_config.json", R"({"eos_token_id": "end"})");
  EXPECT_NE(said().find("generation_config.json: eos_token_id"), std::string::npos);
}

TEST(ConfigFromJson, RefusesByNameWhatItDoesNotCompute) {
  const struct {
    std::string_view model;
    std::string_view field;
    Json value;
    std::string_view said;
  } cases[] = {
      {"llama", "model_type", "mamba", "model_type: \"mamba\" is not supported; llama, mistral"},
      {"llama", "quantization_config", {{"quant_method", "gptq"}}, "quantization_config: \"gptq\""},
      {"llama", "mlp_bias", true, "mlp_bias"},
      {"olmo2", "attention_bias", true, "attention_bias"},
      {"llama", "hidden_act", "relu", "hidden_act: \"relu\""},
      {"llama",
       "rope_parameters",
       {{"rope_type", "dynamic"}, {"factor", 2}},
       "rope_parameters.rope_type: \"dynamic\""},
      {"gemma2",
       "layer_types",
       {"full_attention", "full_attention", "linear_attention"},
       "layer_types: "},
      {"gemma2", "layer_types", {"full_attention"}, "layer_types: expected 3 entries"},
      {"smollm3", "use_sliding_window", true, "use_sliding_window"},
      {"llama", "num_hidden_layers", 0, "num_hidden_layers"},
      {"llama", "num_hidden_layers", nullptr, "num_hidden_layers: this field is missing"},
      {"llama", "hidden_size", 1 << 20, "hidden_size"},
      {"llama", "head_dim", 7, "head_dim: expected an even number"},
      {"llama", "num_key_value_heads", 3, "num_key_value_heads: 3 does not divide"},
      {"llama", "rms_norm_eps", nullptr, "rms_norm_eps: this field is missing"},
      {"llama", "rope_parameters", {{"rope_type", "llama3"}, {"factor", 0}}, "factor"},
      {"phi3 long",
       "rope_parameters",
       {{"rope_type", "longrope"},
        {"short_factor", {1}},
        {"long_factor", {1, 2, 3, 4}},
        {"original_max_position_embeddings", 16}},
       "short factors: expected 4 of them, got 1"},
      {"smollm3", "no_rope_layers", {1, 2, 1, 0, 1}, "no_rope_layers[1]"},
      {"llama 3",
       "rope_parameters",
       {{"rope_type", "yarn"},
        {"factor", 4},
        {"beta_fast", 0},
        {"original_max_position_embeddings", 16}},
       "betas above 0"},
  };
  for (const auto& c : cases) {
    Json config = golden(c.model)["config"];
    if (c.field == "layer_types") config["sliding_window"] = 4;
    if (c.field == "use_sliding_window") config["sliding_window"] = 4;
    config[std::string(c.field)] = c.value;
    const auto read = config_from_json(config);
    ASSERT_FALSE(read.ok()) << c.field << " " << c.value.dump();
    EXPECT_NE(read.error().message.find(c.said), std::string::npos) << read.error().to_string();
  }
}

/// The spelling of transformers 4 means the same as that of 5.
TEST(ConfigFromJson, OldSpellingsOfRopeMeanTheSame) {
  Json config = golden("llama 3")["config"];
  const auto now = config_from_json(config);
  ASSERT_TRUE(now.ok());
  Json scaling = config["rope_parameters"];
  config["rope_theta"] = scaling["rope_theta"];
  scaling.erase("rope_theta");
  config.erase("rope_parameters");
  config["rope_scaling"] = scaling;
  const auto before = config_from_json(config);
  ASSERT_TRUE(before.ok()) << before.error().to_string();
  EXPECT_EQ(before->config.rope_divisors, now->config.rope_divisors);
  EXPECT_EQ(before->config.rope_base, now->config.rope_base);

  Json gemma = golden("gemma3")["config"];
  const auto gemma_now = config_from_json(gemma);
  ASSERT_TRUE(gemma_now.ok());
  gemma.erase("rope_parameters");
  gemma.erase("layer_types");
  gemma["rope_theta"] = 1000000.0;
  gemma["rope_local_base_freq"] = 10000.0;
  gemma["rope_scaling"] = {{"type", "linear"}, {"factor", 8.0}};
  gemma["sliding_window_pattern"] = 6;
  const auto gemma_before = config_from_json(gemma);
  ASSERT_TRUE(gemma_before.ok()) << gemma_before.error().to_string();
  EXPECT_EQ(gemma_before->config.rope_divisors, gemma_now->config.rope_divisors);
  EXPECT_EQ(gemma_before->config.rope_base_windowed, gemma_now->config.rope_base_windowed);
  EXPECT_EQ(gemma_before->config.windowed, gemma_now->config.windowed);
}

TEST(ConfigMutants, AreReadOrRefused) {
  const Json values[] = {nullptr,
                         true,
                         false,
                         0,
                         1,
                         -1,
                         3,
                         1e300,
                         4294967296,
                         "x",
                         "",
                         Json::array(),
                         Json::object(),
                         {1, 2, 3},
                         {{"rope_type", "yarn"}},
                         {{"factor", -1}},
                         0.5};
  int count = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Json& cases = golden::architecture_cases();
    Json config = cases[seed % cases.size()]["config"];
    auto& target = random_bits(seed, 0) % 3 == 0 && config["rope_parameters"].is_object()
                       ? config["rope_parameters"]
                       : config;
    auto member = target.begin();
    std::advance(member, static_cast<std::ptrdiff_t>(random_bits(seed, 1) % target.size()));
    *member = values[random_bits(seed, 2) % std::size(values)];
    const auto read = config_from_json(config);
    count += read.ok() ? 1 : 0;
    if (!read.ok()) EXPECT_FALSE(read.error().message.empty());
    if (read.ok()) EXPECT_GE(read->config.rope_dims, 2);
  }
  EXPECT_GT(count, 100);
  EXPECT_LT(count, 950);
}

TEST(VocabularyFromTokenizerJson, KnowsPreTokenizersByTheirExpression) {
  const auto pre_of = [](const Json& pre_tokenizer) {
    TokenizerFiles files;
    files.tokenizer = Json::parse(golden::tiny_tokenizer_json(4));
    files.tokenizer["pre_tokenizer"] = pre_tokenizer;
    files.size = 4;
    const auto read = vocabulary_from_tokenizer_json(files);
    if (!read.ok()) return read.error().to_string();
    return read->pre.empty() ? read->splits.at(0) : read->pre;
  };
  const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  const auto split = [&](std::string_view pattern) {
    return Json{{"type", "Sequence"},
                {"pretokenizers",
                 {{{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}},
                  bytes}}};
  };
  constexpr std::string_view kQwen2 =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
      R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  EXPECT_EQ(pre_of(split(kQwen2)), "qwen2");
  EXPECT_EQ(pre_of({{"type", "Sequence"},
                    {"pretokenizers",
                     {{{"type", "Digits"}, {"individual_digits", true}},
                      {{"type", "ByteLevel"}, {"add_prefix_space", false}}}}}),
            "smollm");
  EXPECT_EQ(pre_of(split(R"(\d+)")), R"(\d+)") << "without a name, by its steps";
  EXPECT_NE(pre_of({{"type", "Whitespace"}}).find("\"Whitespace\" is not supported"),
            std::string::npos);
  EXPECT_NE(pre_of(nullptr).find("unimplemented: pre_tokenizer"), std::string::npos);
}

TEST(VocabularyFromTokenizerJson, ReadsBothSpellingsOfMergesAndAllKindsOfTokens) {
  TokenizerFiles files;
  files.tokenizer = Json::parse(golden::tiny_tokenizer_json(4));
  files.tokenizer["model"]["merges"] = {"t0 t1", {"t2", "t3"}};
  files.tokenizer["added_tokens"] = {{{"id", 4}, {"content", "<s>"}, {"special", true}},
                                     {{"id", 5}, {"content", "<tool>"}, {"special", false}}};
  files.tokenizer["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}}}}};
  files.settings = {{"bos_token", {{"content", "<s>"}}}, {"chat_template", "{{ 1 }}"}};
  files.size = 8;
  const auto read = vocabulary_from_tokenizer_json(files);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(read->merges, (std::vector<std::string>{"t0 t1", "t2 t3"}));
  EXPECT_EQ(read->types[3], text::TokenType::kNormal);
  EXPECT_EQ(read->types[4], text::TokenType::kControl);
  EXPECT_EQ(read->types[5], text::TokenType::kUserDefined);
  EXPECT_EQ(read->types[7], text::TokenType::kUnused);
  EXPECT_EQ(read->bos, 4);
  EXPECT_TRUE(read->add_bos);
  EXPECT_EQ(read->chat_template, "{{ 1 }}");
}

TEST(VocabularyFromTokenizerJson, ReadsCharactersWithByteTokens) {
  TokenizerFiles files;
  files.tokenizer = Json::parse(golden::tiny_tokenizer_json(4));
  files.tokenizer["model"]["byte_fallback"] = true;
  files.tokenizer["model"]["vocab"]["<0x0A>"] = 4;
  files.tokenizer["normalizer"] = {
      {"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
  files.tokenizer["pre_tokenizer"] = nullptr;
  files.size = 5;
  auto read = vocabulary_from_tokenizer_json(files);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(read->model, "gemma4");
  EXPECT_EQ(read->types[4], text::TokenType::kByte);
  EXPECT_EQ(read->space_prefix, text::SpacePrefix::kNever);
  files.tokenizer["pre_tokenizer"] = {{"type", "Metaspace"}, {"prepend_scheme", "first"}};
  read = vocabulary_from_tokenizer_json(files);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->space_prefix, text::SpacePrefix::kFirst);
  files.tokenizer["normalizer"] = {{"type", "Lowercase"}};
  read = vocabulary_from_tokenizer_json(files);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("Lowercase"), std::string::npos);
}

TEST(VocabularyFromTokenizerJson, RefusesIdsThatDoNotFit) {
  const auto said = [](const std::function<void(Json&)>& change) {
    TokenizerFiles files;
    files.tokenizer = Json::parse(golden::tiny_tokenizer_json(4));
    files.size = 4;
    change(files.tokenizer);
    const auto read = vocabulary_from_tokenizer_json(files);
    return read.ok() ? "read" : read.error().to_string();
  };
  EXPECT_NE(said([](Json& t) { t["model"]["vocab"]["x"] = 4; }).find("[0, 4), got \"4\""),
            std::string::npos);
  EXPECT_NE(said([](Json& t) { t["model"]["vocab"]["x"] = 3; }).find("both have id 3"),
            std::string::npos);
  EXPECT_NE(said([](Json& t) { t["model"]["vocab"]["x"] = -1; }).find("got \"-1\""),
            std::string::npos);
  EXPECT_NE(said([](Json& t) { t["model"]["type"] = "Unigram"; }).find("model.type: \"Unigram\""),
            std::string::npos);
  EXPECT_NE(said([](Json& t) { t["model"]["merges"] = {3}; }).find("model.merges[0]"),
            std::string::npos);
  EXPECT_NE(said([](Json& t) { t["normalizer"] = {{"type", "Lowercase"}}; }).find("Lowercase"),
            std::string::npos);
}

}  // namespace
}  // namespace kantha::model
