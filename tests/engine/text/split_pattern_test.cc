#include "engine/text/split_pattern.h"

#include <gtest/gtest.h>

#include <string>

namespace kantha::text {
namespace {

/// Length of the match at the start of `text`, or the error.
std::string match(std::string_view pattern, std::string_view text) {
  const Result<SplitPattern> compiled = SplitPattern::compile(pattern);
  if (!compiled.ok()) return compiled.error().to_string();
  SplitPattern::Run run;
  return std::to_string(compiled->match_end(text, 0, run));
}

struct MatchCase {
  const char* pattern;
  const char* text;
  const char* length;
};

TEST(SplitPattern, FindsTheMatchThatABacktrackingMatcherFinds) {
  const MatchCase cases[] = {
      {"a|ab", "abc", "1"},
      {"ab|a", "abc", "2"},
      {"a*ab", "aaab", "4"},
      {"a?ab?", "ab", "2"},
      {"(ab|a)(bc)?", "abc", "2"},
      {"a{2,3}", "aaaa", "3"},
      {"a{2}", "a", "0"},
      {"a{0,2}b", "aab", "3"},
      {"(?:x|y)+z", "xyxz", "4"},
      {"[^a-c]+", "xyzb", "3"},
      {"[a-c&&[^b]]+", "acb", "2"},
      {"[\\]\\-x]+", "]-x!", "3"},
      {"(?i:'s)", "'S", "2"},
      {"(?i:'s)", "'\u017f", "3"},
      {"\\s+(?!\\S)", "   x", "2"},
      {"\\s+(?!\\S)", "   ", "3"},
      {"\\s+$", "  x", "0"},
      {"(?=a)\\w+", "abc", "3"},
      {"(?=b)\\w+", "abc", "0"},
      {"\\p{Lu}\\p{Ll}+", "Été", "5"},
      {"\\p{Han}+", "漢字かな", "6"},
      {"\\P{L}+", "12a", "2"},
      {"\\x41\\x{42}\\u0043", "ABC", "3"},
      {"[^x]", "\xFF", "1"},
      {"\\d{1,3}", "٣٤", "4"},
      {".+", "ab\nc", "2"},
      {"", "a", "0"},
      {"a++b", "aab", "3"},
      {"[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++", "(ab", "3"},
  };
  for (const MatchCase& row : cases) {
    EXPECT_EQ(match(row.pattern, row.text), row.length) << row.pattern << " on " << row.text;
  }
}

TEST(SplitPattern, DoesNotBlowUpWhereBacktrackingWould) {
  EXPECT_EQ(match("(a*)*b", std::string(100'000, 'a')), "0");
  EXPECT_EQ(match("(a|a)*(a|a)*c", std::string(100'000, 'a')), "0");
}

TEST(SplitPattern, RefusesByNameAndPlaceWhatItDoesNotKnow) {
  const MatchCase cases[] = {
      {"a**", "", "a repeat of a repeat"},
      {"a+?", "", "as little as possible"},
      {"a++a", "", "a possessive repeat of what follows it"},
      {"\\p{N}{1,3}+", "", "{n,m}+ is not known"},
      {"(?<=a)b", "", "at byte 1: this kind of group"},
      {"(?=ab)a", "", "a look-ahead of more than one sign"},
      {"\\bx", "", "this escape"},
      {"^a", "", "^ is not known"},
      {"\\p{Greek}", "", "\\p{Greek} is not known"},
      {"(a", "", "at byte 2: expected )"},
      {"[a", "", "expected ]"},
      {"[b-a]", "", "the end of a range"},
      {"a)", "", "at byte 1"},
      {"*a", "", "something to repeat"},
      {"a{3,2}", "", "a larger second count"},
      {"a{9999}", "", "at most 1000"},
      {"(((a{1000}){1000}){1000})", "", "too large"},
      {"\xFF", "", "UTF-8"},
  };
  for (const MatchCase& row : cases) {
    const std::string error = match(row.pattern, row.text);
    EXPECT_NE(error.find(row.length), std::string::npos) << row.pattern << ": " << error;
  }
  EXPECT_NE(match(std::string(100, '(') + std::string(100, ')'), "").find("nesting"),
            std::string::npos);
  std::string many;
  for (int i = 0; i < 300; ++i) many += "|[a-\\x{" + std::to_string(1000 + i) + "}]";
  EXPECT_NE(match(many, "").find("too many kinds of signs"), std::string::npos);
}

}  // namespace
}  // namespace kantha::text
