#include "engine/serve/engine_config.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "base/digest.h"
#include "engine/serve/byte_size.h"
#include "engine/serve/command_line.h"

namespace kantha::serve {
namespace {

class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text)
      : path_(testing::TempDir() + "kantha-engine-config.json") {
    std::ofstream(path_) << text;
  }
  ~ConfigFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string field_at_fault(const char* text) {
  const auto config = read_engine_config(Json::parse(text));
  return config.ok() ? "none" : config.error().field;
}

TEST(EngineConfig, OnlyThePathIsRequired) {
  const auto config = read_engine_config(Json::parse(R"({"model":{"path":"/m.gguf"}})"));
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->model_path, "/m.gguf");
  EXPECT_EQ(config->sequences_max, 64);
  EXPECT_EQ(config->block_size, 16);
  ASSERT_EQ(config->listen.size(), 1u);
  EXPECT_EQ(config->listen[0].port, 8000);
  EXPECT_EQ(config->drain_timeout_s, 30);
}

TEST(EngineConfig, ReadsEveryKey) {
  const auto config = read_engine_config(Json::parse(R"({
    "model":{"path":"/m.gguf","name":"x"},
    "engine":{"maxModelLen":1024,"maxNumSeqs":8,"blockSize":32,"kvCacheMemory":"2Gi","threads":3,
              "prefixCaching":false,"stepTokensMax":64,"maxQueuedRequests":5,"maxQueuedTokens":999,
              "ttftTargetMs":2500,"itlTargetMs":40,"backend":"ref","kvCacheDtype":"auto","gpuMemoryUtilization":0.92,
              "toolParser":"mistral","reasoningParser":"none"},
    "listen":["unix:/run/e.sock","127.0.0.1:1"],"drain":{"timeoutSeconds":7},
    "http":{"keepAliveSeconds":0.5},"admin":{"tokenFile":"/t"},"log":{"level":"warn"}})"));
  ASSERT_TRUE(config.ok()) << config.error().to_string();
  EXPECT_EQ(config->model_name, "x");
  EXPECT_EQ(config->context_max, 1024);
  EXPECT_EQ(config->kv_bytes, std::int64_t{2} << 30);
  EXPECT_EQ(config->threads, 3);
  EXPECT_FALSE(config->prefix_caching);
  EXPECT_EQ(config->step_tokens_max, 64);
  EXPECT_EQ(config->requests_queued_max, 5);
  EXPECT_EQ(config->prompt_tokens_queued_max, 999);
  EXPECT_EQ(config->ttft_target_ms, 2500);
  EXPECT_EQ(config->itl_target_ms, 40);
  EXPECT_EQ(config->backend, Backend::kRef);
  EXPECT_EQ(config->listen[0].unix_path, "/run/e.sock");
  EXPECT_EQ(config->drain_timeout_s, 7);
  EXPECT_EQ(config->keepalive_s, 0.5);
  EXPECT_EQ(config->admin_token_path, "/t");
  EXPECT_EQ(config->log_level, "warn");
  EXPECT_EQ(config->tool_parser, "mistral");
  EXPECT_EQ(config->reasoning_parser, "none");
}

TEST(EngineConfig, EachFaultNamesItsKey) {
  EXPECT_EQ(field_at_fault(R"({})"), "model.path");
  EXPECT_EQ(field_at_fault(R"({"model":{"path":""}})"), "model.path");
  EXPECT_EQ(field_at_fault(R"({"modle":{}})"), "modle");
  EXPECT_EQ(field_at_fault(R"({"model":{"path":"m","nmae":"x"}})"), "model.nmae");
  const auto engine = [](const std::string& inner) {
    return field_at_fault((R"({"model":{"path":"m"},"engine":{)" + inner + "}}").c_str());
  };
  EXPECT_EQ(engine(R"("maxNumSeq":3)"), "engine.maxNumSeq");
  EXPECT_EQ(engine(R"("maxNumSeqs":0)"), "engine.maxNumSeqs");
  EXPECT_EQ(engine(R"("maxModelLen":1)"), "engine.maxModelLen");
  EXPECT_EQ(engine(R"("blockSize":257)"), "engine.blockSize");
  EXPECT_EQ(engine(R"("blockSize":"16")"), "engine.blockSize");
  EXPECT_EQ(engine(R"("kvCacheMemory":"12Q")"), "engine.kvCacheMemory");
  EXPECT_EQ(engine(R"("kvCacheMemory":true)"), "engine.kvCacheMemory");
  EXPECT_EQ(engine(R"("maxQueuedTokens":-1)"), "engine.maxQueuedTokens");
  EXPECT_EQ(engine(R"("ttftTargetMs":99)"), "engine.ttftTargetMs");
  EXPECT_EQ(engine(R"("itlTargetMs":60001)"), "engine.itlTargetMs");
  EXPECT_EQ(engine(R"("backend":"tpu")"), "engine.backend");
  EXPECT_EQ(engine(R"("kvCacheDtype":"fp8")"), "engine.kvCacheDtype");
  EXPECT_EQ(engine(R"("toolParser":"nobody")"), "engine.toolParser");
  EXPECT_EQ(engine(R"("reasoningParser":7)"), "engine.reasoningParser");
  EXPECT_EQ(engine(R"("reasoningParser":"nobody")"), "engine.reasoningParser");
  EXPECT_EQ(engine(R"("stepTokensMax":8)"), "engine.stepTokensMax");
  const auto root = [](const std::string& inner) {
    return field_at_fault((R"({"model":{"path":"m"},)" + inner + "}").c_str());
  };
  EXPECT_EQ(root(R"("listen":[])"), "listen");
  EXPECT_EQ(root(R"("listen":["nowhere"])"), "listen[0]");
  EXPECT_EQ(root(R"("drain":{"timeoutSeconds":-1})"), "drain.timeoutSeconds");
  EXPECT_EQ(root(R"("log":{"level":"loud"})"), "log.level");
}

TEST(EngineConfig, FlagsWinOverTheFileAndErrorsNameTheFile) {
  const ConfigFile file(R"({"model":{"path":"/m.gguf"},"engine":{"maxNumSeqs":8,"threads":2}})");
  auto line = read_command_line({"--config", file.path(), "--max-num-seqs", "4"});
  ASSERT_TRUE(line.ok()) << line.error().to_string();
  EXPECT_EQ(line->config.sequences_max, 4);
  EXPECT_EQ(line->config.threads, 2);
  line = read_command_line({"--config", file.path(), "--block-size", "0"});
  ASSERT_FALSE(line.ok());
  EXPECT_NE(line.error().message.find(file.path()), std::string::npos);
  EXPECT_NE(line.error().message.find("engine.blockSize"), std::string::npos);
}

TEST(EngineConfig, HashIsThatOfTheFileWhenNoFlagChangesIt) {
  const std::string text = R"({ "model": {"path": "/m.gguf"} })";
  const ConfigFile file(text);
  EXPECT_EQ(read_command_line({"--config", file.path()})->config.hash, sha256_hex(text));
  EXPECT_EQ(read_command_line({"--config", file.path(), "--listen", "unix:/x"})->config.hash,
            sha256_hex(text));
  EXPECT_NE(read_command_line({"--config", file.path(), "--threads", "1"})->config.hash,
            sha256_hex(text));
}

TEST(CommandLine, FlagsAloneAreEnough) {
  const auto line = read_command_line({"--model", "m.gguf", "--listen", "127.0.0.1:0", "--listen",
                                       "unix:/tmp/x.sock", "--served-model-name", "m",
                                       "--kv-cache-memory", "64Mi", "--prefix-caching", "false"});
  ASSERT_TRUE(line.ok()) << line.error().to_string();
  EXPECT_EQ(line->config.listen.size(), 2u);
  EXPECT_EQ(line->config.model_name, "m");
  EXPECT_EQ(line->config.kv_bytes, 64 << 20);
  EXPECT_FALSE(line->config.prefix_caching);
}

TEST(CommandLine, MistakesAreErrors) {
  EXPECT_FALSE(read_command_line({}).ok());
  EXPECT_FALSE(read_command_line({"--modle", "x"}).ok());
  EXPECT_FALSE(read_command_line({"--model", "x", "--threads", "many"}).ok());
  EXPECT_FALSE(read_command_line({"--config", "/nowhere.json"}).ok());
}

TEST(CommandLine, HelpAndVersionPrint) {
  EXPECT_NE(read_command_line({"--help"})->print.find("--max-model-len"), std::string::npos);
  EXPECT_TRUE(read_command_line({"--version"})->print.starts_with("kantha-engine "));
}

TEST(ByteSize, ReadsUnitsAndRefusesTheRest) {
  EXPECT_EQ(*parse_byte_size("1024"), 1024);
  EXPECT_EQ(*parse_byte_size("512Mi"), 512 << 20);
  EXPECT_EQ(*parse_byte_size("3k"), 3000);
  for (const char* text : {"", "0", "-1", "Mi", "5 Mi", "5MB", "1.5Gi", "99999999999Ti"}) {
    EXPECT_FALSE(parse_byte_size(text).ok()) << text;
  }
}

}  // namespace
}  // namespace kantha::serve
