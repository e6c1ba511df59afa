#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/exec/forward_factory.h"
#include "engine/model/load_model.h"
#include "engine/model/model_file.h"
#include "engine/model/weight_reader.h"
#include "tests/fake/gguf_writer.h"

/// A model is in memory once: as packed weights, not beside them as the file that they came from.
namespace kantha::exec {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

/// A line of this process's status, in bytes.
std::int64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1)) * 1024;
  }
  ADD_FAILURE() << "no line " << field;
  return 0;
}

/// From here on VmHWM counts anew.
void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

class WeightsMemory : public testing::Test {
 protected:
  WeightsMemory()
      : path_(std::filesystem::temp_directory_path() /
              ("kantha_weights_memory_" + std::to_string(getpid()) + ".gguf")) {}
  ~WeightsMemory() override { std::filesystem::remove(path_); }

  /// In a process of its own, so that this one never holds what it writes.
  void write_model(const fake::TinyLlama& shape) const {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      fake::write_file(path_, fake::tiny_llama(shape));
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }

  std::string path_;
};

TEST_F(WeightsMemory, holds_a_file_once_while_packing_and_after) {
  // F32 is quickly made, and packed to its own size.
  write_model({.layers = 1,
               .width = 2048,
               .heads = 16,
               .kv_heads = 2,
               .ffn_width = 1536,
               .vocabulary = 900});
  if (HasFatalFailure()) return;
  auto loaded = model::load_model(path_);
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  ASSERT_GT(loaded->file_bytes, 64 * kMiB);
  ForwardOptions options{.kv = {16, 8}, .rows_max = 16, .logit_rows_max = 1, .threads = 2};
  model::WeightReader reader(*loaded);
  options.plan = [&](auto order) { reader.begin(std::move(order)); };
  options.release = [&](std::span<const std::byte> copied) { reader.release(copied); };
  reset_peak();
  const std::int64_t before = status_bytes("VmRSS");
  const std::int64_t file_before = status_bytes("RssFile");
  const auto forward = make_forward_cpu(loaded->llama, options);
  ASSERT_TRUE(forward.ok()) << forward.error().to_string();
  reader.end();
  EXPECT_LT(status_bytes("RssFile") - file_before, 8 * kMiB);
  EXPECT_LT(status_bytes("VmHWM") - before, loaded->file_bytes + 48 * kMiB);

  // The pages that were given back are still the file.
  const auto again = model::load_model(path_);
  ASSERT_TRUE(again.ok());
  const auto& kept = loaded->llama.embedding.bytes;
  EXPECT_EQ(std::memcmp(kept.data(), again->llama.embedding.bytes.data(), kept.size()), 0);
}

TEST_F(WeightsMemory, gives_back_the_pages_of_every_shard) {
  constexpr std::size_t kBytes = 16 << 20;
  model::LoadedModel folder;
  const std::string names[] = {path_, path_ + ".2"};
  for (const std::string& name : names) {
    fake::write_file(name, std::vector<std::byte>(kBytes, std::byte{1}));
    const auto file = model::ModelFile::open(name);
    ASSERT_TRUE(file.ok());
    folder.shards.push_back(*file);
  }
  const std::int64_t before = status_bytes("RssFile");
  for (const auto& shard : folder.shards) shard->fetch(shard->bytes());
  EXPECT_GT(status_bytes("RssFile") - before, 31 * kMiB) << "fetched, and in memory";
  model::WeightReader reader(folder);
  for (const auto& shard : folder.shards) reader.release(shard->bytes());
  EXPECT_LT(status_bytes("RssFile") - before, 2 * kMiB);
  reader.begin({folder.shards[1]->bytes(), folder.shards[0]->bytes()});
  reader.end();
  EXPECT_LT(status_bytes("RssFile") - before, 2 * kMiB) << "also what was read ahead";
  std::filesystem::remove(names[1]);
}

TEST_F(WeightsMemory, leaves_alone_what_is_not_of_the_file) {
  write_model({});
  if (HasFatalFailure()) return;
  const auto loaded = model::load_model(path_);
  ASSERT_TRUE(loaded.ok());
  const std::vector<std::byte> own(64 * 1024, std::byte{7});
  loaded->file->release(own);
  loaded->file->release({});
  EXPECT_EQ(std::count(own.begin(), own.end(), std::byte{7}), std::ssize(own));
}

}  // namespace
}  // namespace kantha::exec
