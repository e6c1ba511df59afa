#include "tests/engine/grammar/mask_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/grammar/grammar_cache.h"
#include "tests/engine/grammar/random_walk.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KANTHA_SLOW_BUILD 1
#endif
#endif

namespace kantha::grammar {
namespace {

#ifdef KANTHA_SLOW_BUILD
constexpr double kPatience = 100;
#else
constexpr double kPatience = 1;
#endif

Wish schema(const char* text) {
  auto json = parse_ordered_json(text);
  CHECK(json.ok(), "a schema of ours");
  return json_schema(*std::move(json), "s");
}

constexpr char kPerson[] = R"({"type":"object","properties":{
  "name":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":120},
  "email":{"type":"string","format":"email"},"note":{"type":"string","maxLength":200},
  "tags":{"type":"array","items":{"enum":["red","green","blue"]}},
  "address":{"type":"object","properties":{"street":{"type":"string"},"zip":{"type":"string",
    "pattern":"^[0-9]{5}$"}},"required":["street"]}},"required":["name","age"]})";

/// Counts of every size, each of which ends in another way.
constexpr char kCounts[] = R"({"type":"object","properties":{
  "a":{"type":"string","maxLength":12},"b":{"type":"string","maxLength":40},
  "c":{"type":"string","minLength":5,"maxLength":80},"d":{"type":"string","maxLength":300},
  "e":{"type":"string","pattern":"^[a-z ]{10,60}$"}},"required":["a","b","c","d","e"]})";

std::vector<std::pair<const char*, Wish>> wishes() {
  return {{"json_object", json_object()},
          {"person", schema(kPerson)},
          {"regex", regex("[A-Z][a-z]+( [A-Z][a-z]+){1,3}, [0-9]{1,3} years", "r")},
          {"string of 500", schema(R"({"type":"string","maxLength":500})")},
          {"strings of 12 to 300", schema(kCounts)},
          {"choice", choice({"red", "green", "greenish"})}};
}

double us(Duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

/// Of each mask of some random answers, sorted.
std::vector<double> mask_times(const std::shared_ptr<const Grammar>& grammar, int answers) {
  const Clock& clock = system_clock();
  std::mt19937_64 random(5);
  std::vector<double> times;
  std::vector<std::uint64_t> mask(grammar->lexicon().words());
  for (int round = 0; round < answers; ++round) {
    GrammarState state(grammar);
    for (int step = 0; step < 100 && !state.is_finished(); ++step) {
      const TimePoint start = clock.now();
      state.fill_mask(mask);
      times.push_back(us(clock.now() - start));
      const std::vector<TokenId> tokens = tokens_in(mask);
      if (tokens.empty()) break;
      EXPECT_TRUE(state.accept(tokens[random() % tokens.size()]));
    }
  }
  std::ranges::sort(times);
  return times;
}

}  // namespace

void expect_quick_masks(const text::Tokenizer& tokenizer, int answers, double most_us) {
  GrammarCache cache;
  CHECK(cache.get(literal("a"), tokenizer).ok(), "the lexicon is there before the clock runs");
  for (const auto& [name, wish] : wishes()) {
    const TimePoint begin = system_clock().now();
    const auto grammar = cache.get(wish, tokenizer);
    ASSERT_TRUE(grammar.ok()) << name;
    const double compile_ms = us(system_clock().now() - begin) / 1000;
    const std::vector<double> times = mask_times(*grammar, answers);
    const auto at = [&](std::size_t percent) { return times[times.size() * percent / 100]; };
    std::printf(
        "%-20s compile %6.1f ms, mask p50 %5.1f us, p90 %5.1f us, p99 %6.1f us, max %7.1f "
        "us, %zu masks, %zu KiB\n",
        name, compile_ms, at(50), at(90), at(99), times.back(), times.size(),
        (*grammar)->memory_bytes() / 1024);
    EXPECT_LE(at(90), most_us * kPatience) << name;
  }
}

}  // namespace kantha::grammar
