#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/grammar/small_lexicon.h"

namespace kantha::grammar {
namespace {

using testing::HasSubstr;

struct Language {
  std::string pattern;
  std::vector<std::string> right;
  std::vector<std::string> wrong;
};

class RegexLanguage : public testing::TestWithParam<Language> {};

TEST_P(RegexLanguage, HasTheseTextsAndNotThose) {
  const Language& language = GetParam();
  const auto grammar = compiled(regex(language.pattern, "p"), small_lexicon());
  for (const std::string& text : language.right) EXPECT_TRUE(is_answer(grammar, text)) << text;
  for (const std::string& text : language.wrong) EXPECT_FALSE(is_answer(grammar, text)) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Table, RegexLanguage,
    testing::Values(Language{"abc", {"abc"}, {"", "ab", "abcd", "xabc"}},
                    Language{"a|bc|", {"a", "bc", ""}, {"b", "abc"}},
                    Language{"(ab)*c+d?", {"c", "ababccd"}, {"ab", "abab", "cdd"}},
                    Language{"a{2,3}b{2}c{1,}", {"aabbc", "aaabbccc"}, {"abbc", "aaaabbc", "aabb"}},
                    Language{"a*?b+?c??", {"b", "aabbc"}, {"a", "bcc"}},
                    Language{"[a-cx]", {"a", "b", "c", "x"}, {"d", "-", "ab"}},
                    Language{"[^a-c]", {"d", "é", "🦩", "\n"}, {"a", "", "dd"}},
                    Language{"[-a]|[b-]|[\\]]|[^]", {"-", "a", "b", "]", "\n"}, {"ab"}},
                    Language{
                        R"([\d\-x]\w\s\.)", {"7_ .", "-A\t.", "xz\xC2\xA0."}, {"7_..", "yA ."}},
                    Language{R"(\D\W\S)", {"a!b"}, {"1!b", "aab", "a! "}},
                    Language{R"(\x41\u00e9\u{1F9A9}\ud83e\udda9\t\cA)", {"Aé🦩🦩\t\x01"}, {"A"}},
                    Language{".", {"a", "é", "🦩"}, {"", "\n", "\r", "ab"}},
                    Language{"^a$", {"a"}, {"", "ba"}}, Language{"(^a|b)$", {"a", "b"}, {"ab"}},
                    Language{"^(|x+)$", {"", "x", "xx"}, {"y"}}, Language{"()", {""}, {"x"}},
                    Language{"a$b|c", {"c"}, {"ab", "a"}}, Language{"$^|q", {"", "q"}, {"a"}},
                    Language{"(?:a)(?<name>b)", {"ab"}, {"a"}},
                    Language{R"(\/\@\-\[\{)", {"/@-[{"}, {""}},
                    Language{"[à-ÿ]{2}", {"éà"}, {"e", "é", "\xC3\xA9\xC3"}},
                    Language{"[\\u0700-\\uffff]", {"܀", "ߺ", "赋", "\xEF\xBF\xBF"}, {"é", "🦩"}}));

TEST(Choice, IsItsTextsLetterByLetter) {
  const std::vector<std::string> texts{"a\nf", "say \"x\" \\", "\x01\x1F\x7F", "🦩", "yes"};
  const auto grammar = compiled(choice(texts), small_lexicon());
  for (const std::string& text : texts) EXPECT_TRUE(is_answer(grammar, text)) << text;
  for (const char* text : {"a\\nf", "af", "a", "\\u0001", "yes!", ""}) {
    EXPECT_FALSE(is_answer(grammar, text)) << text;
  }
}

struct Refusal {
  std::string pattern;
  std::string words;
};

class RefusedRegex : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedRegex, NamesWhatIsNotSupported) {
  const auto grammar = compile(regex(GetParam().pattern, "guided_regex"), small_lexicon());
  ASSERT_FALSE(grammar.ok()) << GetParam().pattern;
  EXPECT_EQ(grammar.error().code, Code::kInvalidArgument);
  EXPECT_EQ(grammar.error().field, "guided_regex");
  EXPECT_THAT(grammar.error().message, HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    Table, RefusedRegex,
    testing::Values(Refusal{"*a", "nothing to repeat at offset 0"},
                    Refusal{"a|*", "nothing to repeat"}, Refusal{"a**", "a second quantifier"},
                    Refusal{"(?<=q)z", "look-around"}, Refusal{"(?!q)z", "look-around"},
                    Refusal{"a{,3}", "begins no quantifier"}, Refusal{"c{2$", "no quantifier"},
                    Refusal{"a{5,2}", "out of order"}, Refusal{"[z-a]", "out of order"},
                    Refusal{"\\", "a backslash at the end"},
                    Refusal{"a{1,2000000000}", "expected at most 10000 repeats, got 2000000000"},
                    Refusal{"(a{1000}){1000}", "too large"}, Refusal{"(.*a.{30}){2}", "too large"},
                    Refusal{"(a", "unclosed group"}, Refusal{"a)", "')' without '('"},
                    Refusal{"[a", "unclosed class"}, Refusal{"\\p{L}", "\\p{…} is not supported"},
                    Refusal{"\\bx", "\\b is not"}, Refusal{"(a)\\1", "back-reference"},
                    Refusal{"\\k<a>", "back-reference"},
                    Refusal{"\\u12", "expected 4 hexadecimal digits"},
                    Refusal{"\\q", "\\q is not an escape"}, Refusal{"[\\d-z]", "is a class"},
                    Refusal{"(?i)a", "this kind of group"}, Refusal{"x{2}{3}", "unescaped '{'"},
                    Refusal{"[]", "no answer can satisfy it"},
                    Refusal{std::string(100, '('), "nested deeper than 64 levels"}));

}  // namespace
}  // namespace kantha::grammar
