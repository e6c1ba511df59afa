#include "noded/models/weight_fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/digest.h"
#include "base/whole_file.h"
#include "noded/models/weight_store.h"
#include "tests/noded/models/file_server.h"

namespace kantha::noded {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t kBytes = 300'000;

/// A cache folder, and what a fetch into it came to.
class Cache {
 public:
  Cache() {
    settings.cache = dir_.file("cache");
    settings.spare_bytes = 0;
    settings.look_again = milliseconds(5);
    settings.retry.pause_first = settings.retry.pause_max = milliseconds(1);
    settings.retry.failures_max = 4;
    settings.download.window = milliseconds(200);
    settings.download.window_bytes_min = 1;
  }

  FetchSpec spec(const FileServer& server, const std::string& content) const {
    return {.urls = {server.url()}, .sha256 = sha256_hex(content)};
  }
  /// Runs until the weights are there or a round failed.
  WeightsState fetch(FetchSpec spec) {
    WeightStore store(std::move(spec), settings, system_clock());
    store.start();
    EXPECT_TRUE(net::eventually([&] {
      const WeightsPhase phase = store.state().phase;
      return phase == WeightsPhase::kReady || phase == WeightsPhase::kFailed;
    })) << store.state().message;
    return store.state();
  }
  std::string path(const std::string& content, const char* suffix = "") const {
    return settings.cache + "/" + sha256_hex(content) + suffix;
  }
  bool has(const std::string& content, const char* suffix = "") const {
    return fs::exists(path(content, suffix));
  }
  void put(const std::string& content, const char* suffix, std::string_view bytes) const {
    fs::create_directories(settings.cache);
    std::ofstream(path(content, suffix), std::ios::binary) << bytes;
  }
  bool holds(const std::string& content) const {
    const Result<std::string> bytes = read_whole_file(path(content), 64u << 20);
    return bytes.ok() && *bytes == content;
  }

  FetchSettings settings;

 private:
  net::TempDir dir_;
};

TEST(WeightFetch, BringsAFileAndPublishesItReadOnly) {
  const std::string content = fake_weights(kBytes);
  const FileServer server(content);
  Cache cache;
  const WeightsState state = cache.fetch(cache.spec(server, content));
  EXPECT_EQ(state.phase, WeightsPhase::kReady) << state.message;
  EXPECT_EQ(state.bytes_done, static_cast<std::int64_t>(kBytes));
  EXPECT_EQ(state.bytes_total, static_cast<std::int64_t>(kBytes));
  EXPECT_TRUE(cache.holds(content));
  EXPECT_EQ(fs::status(cache.path(content)).permissions(), fs::perms(0444));
  EXPECT_FALSE(cache.has(content, ".part"));
  EXPECT_FALSE(cache.has(content, ".note"));
}

TEST(WeightFetch, AsksNobodyWhenTheFileIsThere) {
  const std::string content = fake_weights(kBytes);
  const FileServer server(content);
  Cache cache;
  cache.fetch(cache.spec(server, content));
  EXPECT_EQ(cache.fetch(cache.spec(server, content)).phase, WeightsPhase::kReady);
  EXPECT_EQ(server.request_count(), 1);
}

TEST(WeightFetch, GoesOnWhereACutDownloadEnded) {
  const std::string content = fake_weights(kBytes);
  const FileServer server(content, [](const SeenRequest&, int number) {
    return FileAnswer{.cut_after = number < 2 ? 100'000u : SIZE_MAX};
  });
  Cache cache;
  EXPECT_EQ(cache.fetch(cache.spec(server, content)).phase, WeightsPhase::kReady);
  EXPECT_TRUE(cache.holds(content));
  const std::vector<SeenRequest> seen = server.requests();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[1].offset, 100'000);
  EXPECT_EQ(seen[2].offset, 200'000);
  EXPECT_EQ(seen[1].field("if-range"), "\"one\"");
}

TEST(WeightFetch, StartsAnewWhenTheFileChangedMeanwhile) {
  const std::string content = fake_weights(kBytes);
  for (const bool polite : {true, false}) {
    const FileServer server(content, [polite](const SeenRequest&, int number) {
      FileAnswer answer{.cut_after = number == 0 ? 100'000u : SIZE_MAX};
      if (number == 0) answer.body = fake_weights(kBytes, 2);
      if (number > 0) answer.etag = "\"two\"";
      answer.ignores_if_range = !polite;
      return answer;
    });
    Cache cache;
    EXPECT_EQ(cache.fetch(cache.spec(server, content)).phase, WeightsPhase::kReady);
    EXPECT_TRUE(cache.holds(content));
    EXPECT_EQ(server.requests().back().offset, polite ? 100'000 : 0);
  }
}

TEST(WeightFetch, ReadsWhatIsThereAgainAndDoesNotTrustIt) {
  const std::string content = fake_weights(kBytes);
  const FileServer server(content);
  Cache cache;
  std::string damaged = content.substr(0, 200'000);
  damaged[150'000] ^= 1;
  cache.put(content, ".part", damaged);
  EXPECT_EQ(cache.fetch(cache.spec(server, content)).phase, WeightsPhase::kReady);
  EXPECT_TRUE(cache.holds(content));
  ASSERT_EQ(server.request_count(), 2);
  EXPECT_EQ(server.requests()[0].offset, 200'000);
  EXPECT_EQ(server.requests()[1].offset, 0);
}

TEST(WeightFetch, PublishesAPartThatIsWholeWithoutAsking) {
  const std::string content = fake_weights(kBytes);
  const FileServer server(content);
  Cache cache;
  cache.put(content, ".part", content);
  const Result<CacheFolder> folder = CacheFolder::open(cache.settings.cache);
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(
      folder->write_note(sha256_hex(content), {"x", "", "", static_cast<std::int64_t>(kBytes)})
          .ok());
  EXPECT_EQ(cache.fetch(cache.spec(server, content)).phase, WeightsPhase::kReady);
  EXPECT_EQ(server.request_count(), 0);
}

TEST(WeightFetch, TakesAServerWithoutRangesAndWithoutLengths) {
  const std::string content = fake_weights(kBytes);
  const FileServer server(content, [](const SeenRequest&, int number) {
    return FileAnswer{.takes_ranges = false,
                      .has_length = number > 0,
                      .cut_after = number == 0 ? 100'000u : SIZE_MAX};
  });
  Cache cache;
  // Without a length, the cut one looks whole: its digest tells.
  EXPECT_EQ(cache.fetch(cache.spec(server, content)).phase, WeightsPhase::kFailed);
  EXPECT_EQ(cache.fetch(cache.spec(server, content)).phase, WeightsPhase::kReady);
  EXPECT_TRUE(cache.holds(content));
}

TEST(WeightFetch, GivesUpAStalledServerAndAsksTheMirror) {
  const std::string content = fake_weights(kBytes);
  const FileServer slow(content, [](const SeenRequest&, int) {
    return FileAnswer{.cut_after = 50'000, .stalls = true};
  });
  const FileServer mirror(content);
  Cache cache;
  FetchSpec spec = cache.spec(slow, content);
  spec.urls.push_back(mirror.url("/elsewhere"));
  const WeightsState state = cache.fetch(std::move(spec));
  EXPECT_EQ(state.phase, WeightsPhase::kReady) << state.message;
  EXPECT_EQ(state.source, mirror.url("/elsewhere").shown());
  EXPECT_TRUE(cache.holds(content));
  ASSERT_GE(mirror.request_count(), 1);
  EXPECT_GE(mirror.requests()[0].offset, 50'000);
  EXPECT_EQ(mirror.requests()[0].field("if-range"), "") << "validators of another address";
}

TEST(WeightFetch, FollowsRedirectsButNotForEver) {
  const std::string content = fake_weights(kBytes);
  const FileServer server(content, [](const SeenRequest& request, int) {
    const bool is_moved = request.first_line().find("/new") == std::string::npos;
    FileAnswer answer;
    if (is_moved) answer = {.status = 302, .fields = "Location: /new?sig=secret\r\n"};
    return answer;
  });
  Cache cache;
  EXPECT_EQ(cache.fetch(cache.spec(server, content)).phase, WeightsPhase::kReady);
  EXPECT_TRUE(cache.holds(content));
  const FileServer loop(content, [](const SeenRequest&, int) {
    return FileAnswer{.status = 307, .fields = "Location: /again\r\n"};
  });
  const std::string other = fake_weights(kBytes, 7);
  const WeightsState state = cache.fetch(cache.spec(loop, other));
  EXPECT_EQ(state.phase, WeightsPhase::kFailed);
  EXPECT_THAT(state.message, HasSubstr("more than 5 redirects"));
  EXPECT_EQ(loop.request_count(), 6);
}

TEST(WeightFetch, RefusesByNameAndLeavesNothingUnderTheName) {
  const std::string content = fake_weights(kBytes);
  struct Case {
    FileAnswer answer;
    const char* words;
  };
  const std::vector<Case> cases = {
      {{.body = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"},
       "Git LFS pointer"},
      {{.fields = "Content-Type: text/html\r\n", .body = "<html>sign in</html>"}, "HTML page"},
      {{.body = "<!doctype html><title>sign in</title>"}, "HTML page"},
      {{.body = std::string(kBytes, '\0')}, "zero bytes"},
      {{.body = "PK\x03\x04" + std::string(1000, 'x')}, "not GGUF"},
      {{.body = content.substr(0, kBytes - 1)}, "wrong SHA-256: expected "},
      {{.status = 404, .body = "not here"}, "404 Not Found"},
      {{.status = 401, .body = "who are you"}, "401 Unauthorized"},
      {{.status = 403, .body = "no"}, "403 Forbidden"},
  };
  for (const Case& c : cases) {
    const FileServer server(content, [&](const SeenRequest&, int) { return c.answer; });
    Cache cache;
    const WeightsState state = cache.fetch(cache.spec(server, content));
    EXPECT_EQ(state.phase, WeightsPhase::kFailed) << c.words;
    EXPECT_THAT(state.message, AllOf(HasSubstr(c.words), HasSubstr("next try in"),
                                     HasSubstr(server.url().shown())));
    EXPECT_FALSE(cache.has(content)) << c.words;
    EXPECT_EQ(server.request_count(), 1) << c.words;
  }
}

TEST(WeightFetch, RefusesAWrongSizeBeforeItComes) {
  const std::string content = fake_weights(kBytes);
  const FileServer server(content);
  Cache cache;
  FetchSpec spec = cache.spec(server, content);
  spec.bytes = 1000;
  const WeightsState state = cache.fetch(std::move(spec));
  EXPECT_THAT(state.message, HasSubstr("wrong size: expected 1000 bytes, the server has 300000"));
  EXPECT_FALSE(cache.has(content, ".part") && fs::file_size(cache.path(content, ".part")) > 0);
}

TEST(WeightFetch, AnErrorPageDoesNotCostWhatIsThere) {
  const std::string content = fake_weights(kBytes);
  const FileServer server(content, [](const SeenRequest&, int number) {
    FileAnswer page{.takes_ranges = false, .body = "<html>come back later</html>"};
    return number == 0 ? page : FileAnswer{};
  });
  Cache cache;
  cache.put(content, ".part", content.substr(0, 250'000));
  EXPECT_EQ(cache.fetch(cache.spec(server, content)).phase, WeightsPhase::kFailed);
  EXPECT_EQ(fs::file_size(cache.path(content, ".part")), 250'000u);
  EXPECT_EQ(cache.fetch(cache.spec(server, content)).phase, WeightsPhase::kReady);
  EXPECT_EQ(server.requests()[1].offset, 250'000);
}

TEST(WeightFetch, RetriesServersInTroubleAndThenSaysSo) {
  const std::string content = fake_weights(kBytes);
  const FileServer server(content, [](const SeenRequest&, int number) {
    FileAnswer trouble{.status = 503, .body = "busy"};
    return number < 3 ? trouble : FileAnswer{};
  });
  Cache cache;
  EXPECT_EQ(cache.fetch(cache.spec(server, content)).phase, WeightsPhase::kReady);
  const FileServer down(
      content, [](const SeenRequest&, int) { return FileAnswer{.status = 502, .body = "down"}; });
  const std::string other = fake_weights(kBytes, 9);
  const WeightsState state = cache.fetch(cache.spec(down, other));
  EXPECT_EQ(state.phase, WeightsPhase::kFailed);
  EXPECT_THAT(state.message, HasSubstr("502 Bad Gateway"));
  EXPECT_EQ(down.request_count(), cache.settings.retry.failures_max);
}

TEST(WeightFetch, OneOfSeveralDownloadsAndAllGetTheFile) {
  const std::string content = fake_weights(kBytes);
  const FileServer server(content,
                          [](const SeenRequest&, int) { return FileAnswer{.pause_every = 4096}; });
  Cache cache;
  std::vector<std::unique_ptr<WeightStore>> stores;
  for (int i = 0; i < 10; ++i) {
    stores.push_back(
        std::make_unique<WeightStore>(cache.spec(server, content), cache.settings, system_clock()));
    stores.back()->start();
  }
  EXPECT_TRUE(net::eventually([&] {
    for (const auto& store : stores) {
      const WeightsState state = store->state();
      const bool tells = state.phase == WeightsPhase::kWaiting && state.bytes_done > 0 &&
                         state.bytes_total == static_cast<std::int64_t>(kBytes);
      if (tells) return true;
    }
    return false;
  })) << "those who wait see the progress of the one that downloads";
  for (const auto& store : stores) {
    EXPECT_TRUE(net::eventually([&] { return store->is_ready(); })) << store->state().message;
  }
  EXPECT_TRUE(cache.holds(content));
  EXPECT_EQ(server.request_count(), 1);
}

TEST(WeightFetch, TakesOutOldFilesForANewOneButNoneInUse) {
  Cache cache;
  const std::string old = fake_weights(kBytes, 2);
  const std::string used = fake_weights(kBytes, 3);
  const std::string wanted = fake_weights(kBytes, 4);
  const FileServer old_server(old);
  const FileServer used_server(used);
  const FileServer server(wanted);
  ASSERT_EQ(cache.fetch(cache.spec(old_server, old)).phase, WeightsPhase::kReady);
  WeightStore user(cache.spec(used_server, used), cache.settings, system_clock());
  user.start();
  ASSERT_TRUE(net::eventually([&] { return user.is_ready(); }));
  cache.settings.quota_bytes = 2 * kBytes + 100'000;
  EXPECT_EQ(cache.fetch(cache.spec(server, wanted)).phase, WeightsPhase::kReady);
  EXPECT_FALSE(cache.has(old));
  EXPECT_TRUE(cache.holds(used));
  EXPECT_TRUE(cache.holds(wanted));
}

TEST(WeightFetch, SaysWithNumbersThatThereIsNoRoom) {
  const std::string content = fake_weights(kBytes);
  const FileServer server(content);
  Cache cache;
  cache.settings.quota_bytes = 100'000;
  WeightsState state = cache.fetch(cache.spec(server, content));
  EXPECT_EQ(state.phase, WeightsPhase::kFailed);
  EXPECT_THAT(state.message, AllOf(HasSubstr("no room for 293.0 KiB more"),
                                   HasSubstr("the quota is 97.7 KiB"), HasSubstr("cache")));
  cache.settings.quota_bytes = 0;
  cache.settings.spare_bytes = 1ll << 60;
  state = cache.fetch(cache.spec(server, content));
  EXPECT_THAT(state.message, HasSubstr("stay free"));
}

TEST(WeightFetch, SaysThatTheFolderCannotBeUsed) {
  const std::string content = fake_weights(kBytes);
  const FileServer server(content);
  Cache cache;
  cache.settings.cache += "/missing/folder";
  const WeightsState state = cache.fetch(cache.spec(server, content));
  EXPECT_EQ(state.phase, WeightsPhase::kFailed);
  EXPECT_THAT(state.message, AllOf(HasSubstr("/missing/folder"), HasSubstr("No such file")));
}

TEST(WeightFetch, GoesThroughAProxy) {
  const std::string content = fake_weights(kBytes);
  const FileServer proxy(content);
  Cache cache;
  cache.settings.download.proxies.for_http =
      Proxy{{.host = "127.0.0.1", .port = proxy.url().port}, "Basic eDp5"};
  FetchSpec spec = cache.spec(proxy, content);
  spec.urls[0] = *parse_url("http://models.invalid/x.gguf");
  const WeightsState state = cache.fetch(std::move(spec));
  EXPECT_EQ(state.phase, WeightsPhase::kReady) << state.message;
  EXPECT_THAT(proxy.requests()[0].first_line(), HasSubstr("GET http://models.invalid/x.gguf "));
  EXPECT_EQ(proxy.requests()[0].field("host"), "models.invalid");
  EXPECT_EQ(proxy.requests()[0].field("proxy-authorization"), "Basic eDp5");
}

TEST(WeightFetch, EndsSoonWhenItIsToldTo) {
  const std::string content = fake_weights(kBytes);
  const FileServer server(content, [](const SeenRequest&, int) {
    return FileAnswer{.cut_after = 50'000, .stalls = true};
  });
  Cache cache;
  cache.settings.download.window = std::chrono::hours(1);
  const TimePoint begin = system_clock().now();
  {
    WeightStore store(cache.spec(server, content), cache.settings, system_clock());
    store.start();
    ASSERT_TRUE(net::eventually([&] { return store.state().bytes_done == 50'000; }));
  }
  EXPECT_LT(system_clock().now() - begin, std::chrono::seconds(4));
  EXPECT_EQ(fs::file_size(cache.path(content, ".part")), 50'000u);
}

TEST(CacheFolder, TakesNothingButDigestsForNames) {
  EXPECT_TRUE(is_digest(std::string(64, 'a')));
  for (const std::string& bad : {std::string(63, 'a'), std::string(64, 'A'), std::string(64, 'g'),
                                 "../" + std::string(61, 'a'), std::string()}) {
    EXPECT_FALSE(is_digest(bad)) << bad;
  }
}

TEST(CacheFolder, LooksAwayFromFilesThatAreNotItsOwn) {
  Cache cache;
  const std::string content = fake_weights(100);
  cache.put(content, "", content);
  std::ofstream(cache.settings.cache + "/notes.txt") << "mine";
  std::ofstream(cache.path(content) + ".bak") << "mine";
  const Result<CacheFolder> folder = CacheFolder::open(cache.settings.cache);
  ASSERT_TRUE(folder.ok());
  const std::vector<CacheEntry> entries = folder->entries("");
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].digest, sha256_hex(content));
  EXPECT_FALSE(entries[0].in_use);
}

TEST(CacheFolder, DoesNotHoldAnEmptyFile) {
  Cache cache;
  const std::string content = fake_weights(100);
  cache.put(content, "", "");
  const Result<CacheFolder> folder = CacheFolder::open(cache.settings.cache);
  ASSERT_TRUE(folder.ok());
  const auto used = folder->use(sha256_hex(content));
  ASSERT_TRUE(used.ok());
  EXPECT_FALSE(used->has_value());
  EXPECT_FALSE(cache.has(content));
}

}  // namespace
}  // namespace kantha::noded
