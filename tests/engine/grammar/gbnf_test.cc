#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/grammar/small_lexicon.h"

namespace kantha::grammar {
namespace {

using testing::HasSubstr;

std::shared_ptr<const Grammar> of(const std::string& source) {
  return compiled(gbnf(source, "grammar"), joint_lexicon());
}

TEST(Gbnf, ArithmeticNestsToAnyDepth) {
  const auto grammar = of(R"gbnf(
    root  ::= term (("+" | "-") term)*   # sums
    term  ::= [0-9]+
            | "(" root ")"
  )gbnf");
  EXPECT_TRUE(is_answer(grammar, "12+(3-(4))"));
  EXPECT_EQ(verdict(grammar, "(1"), Verdict::kUnfinished);
  EXPECT_EQ(verdict(grammar, "1"), Verdict::kComplete);
  EXPECT_EQ(verdict(grammar, "1)"), Verdict::kRefused);
  const std::string deep(500, '(');
  EXPECT_TRUE(is_answer(grammar, deep + "1" + std::string(500, ')')));
  EXPECT_FALSE(is_answer(grammar, deep + "1" + std::string(499, ')')));
}

TEST(Gbnf, LiteralsClassesAndCounts) {
  const auto grammar = of(R"(root ::= "a\n\x41\"" [^x-z\]]{2} .? word{1,2} tail
word ::= "w" | "é"
tail ::= )");
  EXPECT_EQ(verdict(grammar, "a\nA\"üaéw"), Verdict::kComplete);
  EXPECT_EQ(verdict(grammar, "a\nA\"üa🦩éw"), Verdict::kFinished);
  EXPECT_FALSE(is_answer(grammar, "a\nA\"xaw"));
  EXPECT_FALSE(is_answer(grammar, "a\nA\"aa"));
}

TEST(Gbnf, RulesThatMayBeEmptyBeginOthers) {
  const auto grammar = of("root ::= gap gap \"a\" root | gap\ngap ::= \" \"*");
  EXPECT_TRUE(is_answer(grammar, ""));
  EXPECT_TRUE(is_answer(grammar, "  a a  "));
  EXPECT_FALSE(is_answer(grammar, "b"));
}

TEST(Gbnf, AmbiguityIsNoHarm) {
  const auto grammar = of("root ::= \"a\" root \"a\" | \"a\" root | \"\"");
  EXPECT_TRUE(is_answer(grammar, std::string(300, 'a')));
}

TEST(Gbnf, RightRecursionCostsNoFrames) {
  const auto grammar = of("root ::= \"a\" root | \"b\"");
  EXPECT_EQ(verdict(grammar, std::string(20'000, 'a') + "b"), Verdict::kFinished);
}

struct Refusal {
  std::string source;
  std::string words;
};

class RefusedGbnf : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedGbnf, SaysWhereAndWhy) {
  const auto grammar = compile(gbnf(GetParam().source, "grammar"), joint_lexicon());
  ASSERT_FALSE(grammar.ok());
  EXPECT_EQ(grammar.error().code, Code::kInvalidArgument);
  EXPECT_EQ(grammar.error().field, "grammar");
  EXPECT_THAT(grammar.error().message, HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    Table, RefusedGbnf,
    testing::Values(
        Refusal{"", "there is no rule \"root\""}, Refusal{"a ::= \"x\"", "no rule \"root\""},
        Refusal{"root ::= b", "\"b\" is used and not defined"},
        Refusal{"root ::= root \"x\" | \"y\"", "\"root\" begins with itself"},
        Refusal{"root ::= b \"x\" | \"y\"\nb ::= \"\" root", "begins with itself"},
        Refusal{"root ::= \"x\" root", "no answer can satisfy it"},
        Refusal{"root ::= \"x", "unclosed literal"}, Refusal{"root ::= [a", "unclosed class"},
        Refusal{"root ::= (\"a\"", "unclosed group"}, Refusal{"root ::= \"a\")", "unexpected ')'"},
        Refusal{"root ::= \"a\"\nroot ::= \"b\"", "defined twice"},
        Refusal{"start: \"a\"", "expected a rule, NAME ::= …"},
        Refusal{"root ::= /a/", "unexpected '/'"}, Refusal{"root ::= \"\\q\"", "unknown escape"},
        Refusal{"root ::= \"a\"{3,2}", "expected {n}, {n,} or {n,m}"},
        Refusal{"root ::= \"a\"{99999}", "at most 10000 repeats"},
        Refusal{"root ::= * \"a\"", "unexpected '*'"},
        Refusal{"root ::= " + std::string(100, '('), "nested deeper than 64"},
        Refusal{std::string(300'000, '#'), "expected at most 262144 bytes"}));

}  // namespace
}  // namespace kantha::grammar
