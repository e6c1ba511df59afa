#include "engine/model/load_model.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tests/fake/gguf_writer.h"

namespace kantha::model {
namespace {

using fake::Bytes;

/// A folder that goes away with the test.
class LoadModel : public testing::Test {
 protected:
  LoadModel()
      : dir_(std::filesystem::temp_directory_path() /
             ("kantha_load_model_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(dir_);
  }
  ~LoadModel() override { std::filesystem::remove_all(dir_); }

  std::string put(std::string_view name, std::span<const std::byte> bytes) const {
    const std::string path = dir_ / name;
    fake::write_file(path, bytes);
    return path;
  }
  std::string put(std::string_view name, std::string_view text) const {
    return put(name, std::as_bytes(std::span(text)));
  }

  std::filesystem::path dir_;
};

TEST_F(LoadModel, ReadsATinyModelOfEveryType) {
  using ops::DType;
  for (std::size_t index = 0; index < ops::kDTypeCount; ++index) {
    const auto type = static_cast<DType>(index);
    // Rows are whole blocks.
    const bool wide = ops::dtype_block_elements(type) == 256;
    const fake::TinyLlama shape{.width = wide ? 256 : 64,
                                .heads = wide ? 16 : 4,
                                .ffn_width = wide ? 256 : 96,
                                .type = type};
    const auto loaded = load_model(put("tiny.gguf", fake::tiny_llama(shape)));
    ASSERT_TRUE(loaded.ok()) << ops::dtype_name(type) << ": " << loaded.error().to_string();
    const LlamaModel& llama = loaded->llama;
    EXPECT_EQ(llama.config.layers, 2);
    EXPECT_EQ(llama.config.head_size, 16);
    EXPECT_EQ(llama.config.rope_dims, 16);
    EXPECT_EQ(llama.config.vocabulary, 320);
    ASSERT_EQ(llama.layers.size(), 2U);
    EXPECT_EQ(llama.layers[1].k.rows, 32);
    EXPECT_EQ(llama.layers[1].down.cols, shape.ffn_width);
    EXPECT_EQ(llama.layers[1].down.type, type);
    EXPECT_EQ(llama.layers[1].ffn_norm.type, DType::kF32);
    EXPECT_EQ(loaded->name, "Tiny Llama");
    EXPECT_EQ(loaded->vocabulary.tokens.size(), 320U);
    EXPECT_EQ(loaded->vocabulary.eos, 2);
  }
}

TEST_F(LoadModel, ReadsTheTestModel) {
  const char* path = std::getenv("KANTHA_TEST_MODEL");
  ASSERT_NE(path, nullptr) << "set KANTHA_TEST_MODEL, or run under ctest";
  const auto loaded = load_model(path);
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string() << "; scripts/fetch-model brings the file";
  const LlamaConfig& config = loaded->llama.config;
  EXPECT_EQ(config.layers, 30);
  EXPECT_EQ(config.width, 576);
  EXPECT_EQ(config.heads, 9);
  EXPECT_EQ(config.kv_heads, 3);
  EXPECT_EQ(config.head_size, 64);
  EXPECT_EQ(config.rope_dims, 64);
  EXPECT_EQ(config.ffn_width, 1536);
  EXPECT_EQ(config.vocabulary, 49152);
  EXPECT_EQ(config.context, 8192);
  EXPECT_EQ(config.rope_base, 100000.0F);
  EXPECT_EQ(loaded->llama.output.bytes.data(), loaded->llama.embedding.bytes.data()) << "tied";
  EXPECT_EQ(loaded->llama.layers[29].q.type, ops::DType::kQ4_1);
  EXPECT_EQ(loaded->vocabulary.pre, "smollm");
  EXPECT_EQ(loaded->vocabulary.merges.size(), 48900U);
  EXPECT_EQ(loaded->vocabulary.tokens[9690], "system");
  EXPECT_NE(loaded->vocabulary.chat_template.find("<|im_start|>"), std::string::npos);
}

TEST_F(LoadModel, SaysWhatTheFileLooksLike) {
  const struct {
    std::string_view text;
    std::string_view said;
  } cases[] = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "Git LFS pointer"},
      {"<!DOCTYPE html><html><body>404</body></html>", "HTML"},
      {"\n  <html>", "HTML"},
      {"", "an empty file"},
      {std::string_view("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16), "zeros"},
      {"GGU", "cut off"},
      {"PK\x03\x04zip", "zip"},
      {"{\"error\": 1}", "JSON"},
      {"hello world, I am no model", "something else"},
  };
  for (const auto& c : cases) {
    const auto loaded = load_model(put("x.gguf", c.text));
    ASSERT_FALSE(loaded.ok()) << c.said;
    EXPECT_EQ(loaded.error().code, Code::kDataLoss);
    EXPECT_NE(loaded.error().message.find(c.said), std::string::npos) << loaded.error().message;
    EXPECT_NE(loaded.error().message.find("x.gguf"), std::string::npos) << loaded.error().message;
  }
}

TEST_F(LoadModel, RefusesWhatIsNoFile) {
  const auto missing = load_model(dir_ / "missing.gguf");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  const auto folder = load_model(dir_);
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, Code::kNotFound);
  EXPECT_NE(folder.error().message.find("config.json"), std::string::npos);
  const std::string fifo = dir_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(load_model(fifo).ok()) << "and does not wait for a writer";
}

TEST_F(LoadModel, ViewsStayValidWhileTheFileIsHeld) {
  const std::string path = put("tiny.gguf", fake::tiny_llama({}));
  auto loaded = load_model(path);
  ASSERT_TRUE(loaded.ok());
  const LoadedModel moved = std::move(loaded).value();
  std::filesystem::remove(path);
  float value = 0;
  std::memcpy(&value, moved.llama.output_norm.bytes.data(), sizeof(value));
  EXPECT_GT(value, 0.7F);
  EXPECT_LT(value, 1.3F);
}

}  // namespace
}  // namespace kantha::model
