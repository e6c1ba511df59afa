// Downloads that are killed at any moment, from a server that cuts, stalls and lies: nothing but
// the right bytes ever has the name. KANTHA_KILL_ROUNDS says how often (200 when not set).
#include <gtest/gtest.h>
#include <poll.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/digest.h"
#include "base/process.h"
#include "base/rng.h"
#include "base/whole_file.h"
#include "tests/noded/models/file_server.h"

namespace kantha::noded {
namespace {

constexpr std::size_t kBytes = 2u << 20;
constexpr std::uint64_t kSeed = 20261130;

int rounds_wanted() {
  const char* text = std::getenv("KANTHA_KILL_ROUNDS");
  return text == nullptr ? 200 : std::atoi(text);
}

/// Which trick the server plays on a request.
FileAnswer trick(int number) {
  const double chance = random_unit(kSeed, static_cast<std::uint64_t>(number));
  const auto cut =
      static_cast<std::size_t>(random_unit(kSeed + 1, static_cast<std::uint64_t>(number)) * kBytes);
  FileAnswer answer{.pause_every = 64u << 10};
  if (chance < 0.15) {
    answer.cut_after = cut;
  } else if (chance < 0.20) {
    answer.cut_after = cut;
    answer.stalls = true;
  } else if (chance < 0.30) {
    answer.body = fake_weights(kBytes, 99);  // other bytes under the same validator
    answer.cut_after = cut;
  } else if (chance < 0.35) {
    answer.body = fake_weights(kBytes, 98);
    answer.etag = "\"two\"";
    answer.ignores_if_range = true;
    answer.cut_after = cut;
  } else if (chance < 0.40) {
    answer.takes_ranges = false;
  } else if (chance < 0.45) {
    answer.has_length = false;
    answer.cut_after = cut;
  } else if (chance < 0.50) {
    answer = {.status = 503, .body = "busy"};
  } else if (chance < 0.53) {
    answer = {.takes_ranges = false, .body = "<html>sign in</html>"};
  }
  return answer;
}

/// Runs one fetcher and kills it after that time. Its exit, when it ended by itself.
std::optional<ProcessExit> run_fetcher(const ProcessSpec& spec, int life_ms) {
  Result<Process> process = Process::spawn(spec);
  EXPECT_TRUE(process.ok());
  for (int i = 0; i < life_ms; ++i) {
    if (const auto exit = process->poll()) return exit;
    ::poll(nullptr, 0, 1);
  }
  process->signal(SIGKILL);
  while (!process->poll()) ::poll(nullptr, 0, 1);
  return std::nullopt;
}

TEST(KilledDownloads, NeverLeaveAWrongFileUnderTheName) {
  const char* bin = std::getenv("KANTHA_BIN_DIR");
  ASSERT_NE(bin, nullptr);
  const net::TempDir dir;
  const std::string content = fake_weights(kBytes);
  const std::string digest = sha256_hex(content);
  const FileServer server(content, [](const SeenRequest&, int number) { return trick(number); });
  const std::string cache = dir.file("cache");
  const std::string name = cache + "/" + digest;
  ProcessSpec spec;
  spec.binary = std::string(bin) + "/kantha-fake-fetcher";
  spec.args = {cache, digest, server.url().to_string()};
  spec.log_path = dir.file("log");
  int kills = 0;
  int loads = 0;
  int refusals = 0;
  int resumed = 0;
  const int rounds = rounds_wanted();
  for (std::uint64_t turn = 0; kills < rounds; ++turn) {
    const int life_ms = 1 + static_cast<int>(random_unit(kSeed + 2, turn) * 60);
    const auto exit = run_fetcher(spec, life_ms);
    kills += exit ? 0 : 1;
    refusals += exit && exit->code == 3 ? 1 : 0;
    ASSERT_TRUE(!exit || exit->code == 0 || exit->code == 3) << exit->to_string();
    ASSERT_FALSE(exit && exit->code == 0 && !std::filesystem::exists(name));
    if (!std::filesystem::exists(name)) continue;
    const Result<std::string> bytes = read_whole_file(name, 2 * kBytes);
    ASSERT_TRUE(bytes.ok());
    ASSERT_TRUE(*bytes == content) << "a corrupt load after " << kills << " kills";
    ++loads;
    std::filesystem::remove(name);
  }
  for (const SeenRequest& request : server.requests()) resumed += request.offset > 0 ? 1 : 0;
  std::printf("%d kills, %d loads, 0 corrupt; %d of %d requests resumed, %d rounds refused\n",
              kills, loads, resumed, server.request_count(), refusals);
  EXPECT_GT(loads, rounds / 20);
  EXPECT_GT(resumed, rounds / 20);
}

}  // namespace
}  // namespace kantha::noded
