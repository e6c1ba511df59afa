#include "cli/model_inspection.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/golden/tiny_architecture.h"

/// Every kind of bad input, as a user meets it: `kantha model inspect` says which tensor, key or
/// line it is, and takes no memory for what is only claimed.
namespace kantha::cli {
namespace {

using fake::Bytes;
using fake::GgufWriter;

constexpr fake::TinyLlama kShape{
    .layers = 1, .width = 32, .heads = 2, .kv_heads = 1, .ffn_width = 32, .vocabulary = 260};

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// A good GGUF after a change of its keys or tensors.
Bytes gguf(const std::function<void(GgufWriter&)>& change = [](GgufWriter&) {}) {
  GgufWriter writer = fake::tiny_llama_writer(kShape);
  change(writer);
  return writer.finish();
}

Bytes gguf_with_template(std::string_view source) {
  return gguf([&](GgufWriter& writer) {
    writer.without("tokenizer.chat_template").text("tokenizer.chat_template", source);
  });
}

/// With eight bytes of it put over others.
Bytes with_number(Bytes bytes, std::size_t at, std::uint64_t number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
  return bytes;
}

Bytes cut(Bytes bytes, std::size_t size) {
  bytes.resize(size);
  return bytes;
}

/// The second half is there, and zeros.
Bytes half_written(Bytes bytes) {
  std::fill(bytes.begin() + std::ssize(bytes) / 2, bytes.end(), std::byte{0});
  return bytes;
}

/// What a bad file may cost. The address sanitizer keeps for a while what was freed.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr std::int64_t kGrowthKibMax = 512 << 10;
#define KANTHA_GROWTH_IS_KNOWN
#endif
#endif
#ifndef KANTHA_GROWTH_IS_KNOWN
constexpr std::int64_t kGrowthKibMax = 32 << 10;
#endif

std::int64_t resident_peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6));
  }
  return 0;
}

class ModelInspection : public testing::Test {
 protected:
  ModelInspection()
      : root_(std::filesystem::temp_directory_path() /
              ("kantha_inspection_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(root_);
  }
  ~ModelInspection() override { std::filesystem::remove_all(root_); }

  cli::ModelInspection inspected(const Bytes& file) const {
    fake::write_file(root_ / "m.gguf", file);
    return inspect_for_people(root_ / "m.gguf");
  }
  /// A folder of a llama, in which one file is another.
  cli::ModelInspection inspected_folder(const std::string& name = "",
                                        const Bytes& content = {}) const {
    const Json& test = golden::architecture_cases()[0];
    const std::string config = test["config"].dump();
    const std::string tokenizer = golden::tiny_tokenizer_json(test["config"]["vocab_size"]);
    std::filesystem::create_directories(root_ / "m");
    fake::write_file(root_ / "m/config.json", bytes_of(config));
    fake::write_file(root_ / "m/tokenizer.json", bytes_of(tokenizer));
    fake::write_file(root_ / "m/model.safetensors", golden::tiny_safetensors(test, "F16"));
    if (!name.empty()) fake::write_file(root_ / "m" / name, content);
    return inspect_for_people(root_ / "m");
  }

  std::filesystem::path root_;
};

TEST_F(ModelInspection, GoodModelsRun) {
  for (const auto& found : {inspected(gguf()), inspected_folder()}) {
    EXPECT_EQ(found.refusal, "") << found.text;
    EXPECT_NE(found.text.find("runs          yes\n"), std::string::npos) << found.text;
  }
}

struct BadFile {
  std::string_view name;
  Bytes bytes;
  std::vector<std::string_view> said;
};

/// Each word of refusal names what it is about.
TEST_F(ModelInspection, OfABadGgufNamesTensorKeyOrLine) {
  const Bytes good = gguf();
  const std::vector<float> values(32, 1.0F);
  const BadFile cases[] = {
      {"truncated in the weights", cut(good, good.size() - 500), {"tensor", "truncated"}},
      {"truncated in the keys", cut(good, 200), {"offset", "bytes"}},
      {"LFS pointer",
       bytes_of("version https://git-lfs.github.com/spec/v1\n"),
       {"Git LFS pointer"}},
      {"zeros", Bytes(4096), {"a file of zeros"}},
      {"written to its half", half_written(good), {"tensor ", "zeros only"}},
      {"two tensors in one place",
       gguf([&](GgufWriter& w) { w.listed("liar.weight", {8}, 0, 0); }),
       {"liar.weight", "overlap"}},
      {"tensor count", with_number(good, 8, ~0ULL >> 1), {"tensor count", "limit"}},
      {"key count", with_number(good, 16, 1'000'000), {"key count", "1000000 claimed"}},
      {"tensor beyond the file",
       gguf([&](GgufWriter& w) { w.listed("liar.weight", {std::int64_t{1} << 40}, 0, 0); }),
       {"liar.weight", "truncated or damaged"}},
      {"tensor of another shape",
       gguf([&](GgufWriter& w) {
         w.without_tensor("output_norm.weight")
             .tensor("output_norm.weight", 0, 16, ops::DType::kF32, std::span(values).first(16));
       }),
       {"output_norm.weight", "expected [1, 32]"}},
      {"width that is no width",
       gguf([](GgufWriter& w) {
         w.without("llama.embedding_length").u32("llama.embedding_length", 1U << 31);
       }),
       {"llama.embedding_length", "2147483648"}},
      {"unknown type",
       gguf([](GgufWriter& w) {
         w.without_tensor("output_norm.weight").listed("output_norm.weight", {256}, 16, 0);
       }),
       {"output_norm.weight", "IQ2_XXS"}},
      {"unknown architecture",
       gguf([](GgufWriter& w) {
         w.without("general.architecture").text("general.architecture", "mamba");
       }),
       {"general.architecture", "\"mamba\" is not supported"}},
      {"unknown pre-tokenizer",
       gguf([](GgufWriter& w) {
         w.without("tokenizer.ggml.pre").text("tokenizer.ggml.pre", "frobnicate");
       }),
       {"pre-tokenizer \"frobnicate\" is not known"}},
      {"template that does not parse", gguf_with_template("a\n{% if %}"), {"line 2"}},
      {"template without end",
       gguf_with_template("{% for a in range(9999) %}\n{% for b in range(9999) %}x{% endfor %}"
                          "{% endfor %}"),
       {"line 2"}},
      {"template that calls itself",
       gguf_with_template("{% macro m() %}\n{{ m() }}{% endmacro %}\n{{ m() }}"),
       {"line 2"}},
  };
  for (const BadFile& c : cases) {
    const std::int64_t before = resident_peak_kib();
    const auto found = inspected(c.bytes);
    for (const std::string_view said : c.said) {
      EXPECT_NE(found.refusal.find(said), std::string::npos) << c.name << ": " << found.refusal;
    }
    EXPECT_LT(resident_peak_kib() - before, kGrowthKibMax) << c.name;
  }
}

/// A safetensors file with this header and so many bytes behind it.
Bytes safetensors(std::string_view header, std::size_t data,
                  std::optional<std::uint64_t> length = {}) {
  Bytes bytes(8);
  bytes = with_number(bytes, 0, length.value_or(header.size()));
  const Bytes text = bytes_of(header);
  bytes.insert(bytes.end(), text.begin(), text.end());
  bytes.resize(bytes.size() + data, std::byte{1});
  return bytes;
}

TEST_F(ModelInspection, OfABadFolderNamesTheFileToo) {
  const Bytes weights = golden::tiny_safetensors(golden::architecture_cases()[0], "F16");
  Json unknown = Json::parse(golden::tiny_tokenizer_json(48));
  unknown["pre_tokenizer"]["type"] = "Frobnicate";
  const struct {
    const char* file;
    BadFile bad;
  } cases[] = {
      {"model.safetensors",
       {"truncated", cut(weights, weights.size() - 100), {"model.safetensors", "truncated"}}},
      {"model.safetensors",
       {"LFS pointer",
        bytes_of("version https://git-lfs.github.com/spec/v1\n"),
        {"model.safetensors", "Git LFS pointer"}}},
      {"model.safetensors", {"zeros", Bytes(4096), {"model.safetensors", "a file of zeros"}}},
      {"model.safetensors",
       {"written to its half", half_written(weights), {"tensor ", "zeros only"}}},
      {"model.safetensors",
       {"two tensors in one place",
        safetensors(R"({"a":{"dtype":"F16","shape":[8],"data_offsets":[0,16]},)"
                    R"("b":{"dtype":"F16","shape":[8],"data_offsets":[8,24]}})",
                    24),
        {"\"a\" and \"b\" overlap"}}},
      {"model.safetensors",
       {"header of 2^62 bytes", safetensors("{}", 8, 1ULL << 62), {"header length", "at most"}}},
      {"model.safetensors",
       {"shape that is not there",
        safetensors(R"({"a":{"dtype":"F16","shape":[4611686018427387904],"data_offsets":[0,16]}})",
                    16),
        {"tensor \"a\"", "data_offsets"}}},
      {"model.safetensors",
       {"unknown type",
        safetensors(R"({"a":{"dtype":"F8_E4M3","shape":[16],"data_offsets":[0,16]}})", 16),
        {"tensor \"a\"", "F8_E4M3"}}},
      {"config.json",
       {"unknown architecture",
        bytes_of(R"({"model_type": "mamba"})"),
        {"config.json", "model_type", "\"mamba\" is not supported"}}},
      {"config.json", {"no JSON", bytes_of("{"), {"config.json"}}},
      {"tokenizer.json",
       {"unknown pre-tokenizer",
        bytes_of(unknown.dump()),
        {"tokenizer.json", "pre_tokenizer", "\"Frobnicate\" is not supported"}}},
      {"tokenizer.json", {"truncated", bytes_of(R"({"model": {"vo)"), {"tokenizer.json"}}},
      {"chat_template.jinja",
       {"template without end",
        bytes_of("{% for a in range(99999999) %}\nx{% endfor %}"),
        {"line 1"}}},
      {"generation_config.json",
       {"end token that is none",
        bytes_of(R"({"eos_token_id": 99999})"),
        {"eos_token_id", "99999"}}},
  };
  for (const auto& [file, bad] : cases) {
    const std::int64_t before = resident_peak_kib();
    const auto found = inspected_folder(file, bad.bytes);
    for (const std::string_view said : bad.said) {
      EXPECT_NE(found.refusal.find(said), std::string::npos)
          << file << ", " << bad.name << ": " << found.refusal;
    }
    EXPECT_LT(resident_peak_kib() - before, kGrowthKibMax) << file << ", " << bad.name;
    std::filesystem::remove_all(root_ / "m");
  }
}

}  // namespace
}  // namespace kantha::cli
