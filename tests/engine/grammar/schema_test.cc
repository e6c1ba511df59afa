#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/grammar/small_lexicon.h"

namespace kantha::grammar {
namespace {

using testing::HasSubstr;

OrderedJson parsed(const std::string& text) {
  const auto json = parse_ordered_json(text);
  CHECK(json.ok(), text.c_str());
  return *json;
}

std::shared_ptr<const Grammar> of(const std::string& schema) {
  auto grammar = compile(json_schema(parsed(schema), "schema"), small_lexicon());
  CHECK(grammar.ok(), grammar.ok() ? "" : grammar.error().message.c_str());
  return *grammar;
}

struct Language {
  std::string schema;
  std::vector<std::string> right;
  std::vector<std::string> wrong;
};

class SchemaLanguage : public testing::TestWithParam<Language> {};

TEST_P(SchemaLanguage, HasTheseAnswersAndNotThose) {
  const auto grammar = of(GetParam().schema);
  for (const std::string& text : GetParam().right) EXPECT_TRUE(is_answer(grammar, text)) << text;
  for (const std::string& text : GetParam().wrong) EXPECT_FALSE(is_answer(grammar, text)) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Types, SchemaLanguage,
    testing::Values(
        Language{R"({"type":"null"})", {"null"}, {"nul", "0", " null"}},
        Language{R"({"type":"boolean"})", {"true", "false"}, {"null", "True"}},
        Language{R"({"type":"integer"})",
                 {"0", "-1", "42", "123456789012345678"},
                 {"01", "1.0", "1e3", "-", "1234567890123456789"}},
        Language{R"({"type":"number"})",
                 {"0", "-1.5", "1e10", "2.5E-07", "123456789012345678"},
                 {".5", "1.", "1e", "1e999", "+1"}},
        Language{R"({"type":["string","null"]})",
                 {R"("")", R"("aé🦩\n\u00e9\ud83e\udda9")", "null"},
                 {"1", "\"\n\"", R"("\x")", R"("\ud83e")", R"("\udda9")", "\"\xC3\"", "\""}},
        Language{R"({})", {"1", R"({"a":[1,{"b":null}]})", "[]", "[1, 2]"}, {"", "[1,]", "{,}"}},
        Language{R"(true)", {"1"}, {"x"}},
        Language{R"({"type":"object"})", {"{}", "{ }", R"({"a":1,"b":{}})"}, {"[]", R"({"a"})"}},
        Language{R"({"type":"array"})", {"[]", "[\n  1,\n  2\n]"}, {"{}", "[1 , 2]", "[  1]"}}));

INSTANTIATE_TEST_SUITE_P(
    Values, SchemaLanguage,
    testing::Values(Language{R"({"const":"🦩é赋👩‍👧\n\"\\"})",
                             {"\"🦩é赋👩‍👧\\n\\\"\\\\\""},
                             {R"("🦩")"}},
                    Language{R"({"const":{"properties":{"a":1}}})",
                             {R"({"properties":{"a":1}})"},
                             {R"({"properties":{"a":1},"additionalProperties":false})", "{}"}},
                    Language{R"({"enum":["a",1,null,{"b":[true]}]})",
                             {R"("a")", "1", "null", R"({"b":[true]})"},
                             {R"("b")", "2", R"({"b": [true]})"}},
                    Language{R"({"enum":["a","abc",1,20],"type":"string","maxLength":2})",
                             {R"("a")"},
                             {R"("abc")", "1"}},
                    Language{R"({"enum":[1,2,3,4.0,5.5],"multipleOf":2,"not":{"const":2}})",
                             {"4.0"},
                             {"1", "2", "3", "5.5"}},
                    Language{R"({"enum":[1,2],"const":1.0})", {"1"}, {"2"}},
                    Language{R"({"allOf":[{"enum":[1,2,3]},{"enum":[2,3,4]},{"minimum":3}]})",
                             {"3"},
                             {"1", "2", "4"}}));

INSTANTIATE_TEST_SUITE_P(
    Numbers, SchemaLanguage,
    testing::Values(
        Language{R"({"type":"integer","minimum":-12,"maximum":105})",
                 {"-12", "-1", "0", "7", "99", "100", "105"},
                 {"-13", "106", "1000", "-0", "00"}},
        Language{R"({"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":3})",
                 {"1", "2"},
                 {"0", "3"}},
        Language{R"({"type":"integer","minimum":2.5,"maximum":4.5})", {"3", "4"}, {"2", "5"}},
        Language{R"({"type":"integer","minimum":18})", {"18", "200"}, {"17", "2", "-18"}},
        Language{R"({"type":"integer","maximum":-5})", {"-5", "-10"}, {"-4", "0"}},
        Language{R"({"type":"integer","maximum":1e300})", {"7"}, {}},
        Language{R"({"type":"integer","multipleOf":7,"minimum":1,"maximum":30})",
                 {"7", "14", "28"},
                 {"0", "8", "35"}},
        Language{R"({"type":"number","minimum":0.25,"maximum":2.5})",
                 {"0.25", "0.250001", "0.3", "1", "1.999999", "2", "2.5", "2.50"},
                 {"0", "0.24", "0.2", "2.500001", "2.6", "3", "1e0"}},
        Language{R"({"type":"number","exclusiveMinimum":0,"maximum":1})",
                 {"0.000001", "1", "1.0", "0.5"},
                 {"0", "0.0", "-0", "1.000001"}},
        Language{R"({"type":"number","minimum":-1.5,"maximum":-0.5})",
                 {"-1.5", "-1", "-0.5"},
                 {"-1.6", "-0.4", "0", "1"}},
        Language{R"({"type":"number","minimum":1e-10,"maximum":1e-5})",
                 {"0.000001", "0.00001"},
                 {"0", "0.000011"}},
        Language{R"({"type":"number","multipleOf":5,"minimum":3})", {"5", "10"}, {"3", "5.5"}}));

INSTANTIATE_TEST_SUITE_P(
    Strings, SchemaLanguage,
    testing::Values(
        Language{R"({"type":"string","minLength":2,"maxLength":3})",
                 {R"("ab")", R"("é🦩赋")", R"("\n\"")"},
                 {R"("a")", R"("abcd")", R"("")"}},
        Language{R"({"type":"string","pattern":"^[a-z]+$"})", {R"("ab")"}, {R"("")", R"("aB")"}},
        Language{R"({"type":"string","pattern":"b+"})", {R"("abc")", R"("b")"}, {R"("ac")"}},
        Language{R"({"type":"string","pattern":"^a.c","maxLength":4})",
                 {R"("abc")", R"("a\"cd")", R"("a\tc")"},
                 {R"("abcde")", R"("a\nc")"}},
        Language{R"({"pattern":"^x","minLength":1})", {R"("x")"}, {"1", R"("y")"}},
        Language{R"({"type":"string","format":"date"})",
                 {R"("2024-02-29")", R"("1999-12-31")"},
                 {R"("2023-02-29")", R"("1900-02-29")", R"("2024-13-01")", R"("0000-01-01")"}},
        Language{R"({"type":"string","format":"date-time"})",
                 {R"("2024-02-29T23:59:59Z")", R"("2024-01-01T00:00:00.123+01:30")"},
                 {R"("2024-01-01")", R"("2024-01-01T24:00:00Z")"}},
        Language{R"({"type":"string","format":"time"})", {R"("12:00:01Z")"}, {R"("12:00")"}},
        Language{R"({"type":"string","format":"uuid"})",
                 {R"("123e4567-e89b-12d3-a456-426614174000")"},
                 {R"("123e4567")"}},
        Language{R"({"type":"string","format":"ipv4"})", {R"("10.0.0.255")"}, {R"("10.0.0.256")"}},
        Language{R"({"type":"string","format":"ipv6"})",
                 {R"("::")", R"("::1")", R"("fe80::1:2")", R"("1:2:3:4:5:6:7:8")", R"("1::")"},
                 {R"("1:2")", R"("1::2::3")", R"(":")", R"("1:2:3:4:5:6:7:8:9")"}},
        Language{R"({"type":"string","format":"email"})", {R"("a.b@c.de")"}, {R"("a@b")"}},
        Language{R"({"type":"string","format":"password"})", {R"("x")"}, {"1"}}));

INSTANTIATE_TEST_SUITE_P(
    Objects, SchemaLanguage,
    testing::Values(
        Language{R"({"type":"object","properties":{"b":{"type":"integer"},"a":{"const":1}},
                     "required":["b"],"additionalProperties":false})",
                 {R"({"b":1})", R"({"b": 1, "a": 1})", "{\n  \"b\": 1,\n  \"a\": 1\n}"},
                 {"{}", R"({"a":1,"b":1})", R"({"b":1,})", R"({"b":1 ,"a":1})", R"({"a":1})"}},
        Language{R"({"properties":{"a":{"type":"null"},"b":{"type":"null"},"c":{"type":"null"}}})",
                 {"{}", R"({"a":null})", R"({"c":null})", R"({"a":null,"c":null})"},
                 {R"({"c":null,"a":null})", R"({"d":null})", "1"}},
        Language{R"({"properties":{"a":{"type":"null"}},"additionalProperties":{"const":2}})",
                 {"{}", R"({"a":null,"x":2,"y":2})", R"({"x":2})", R"({"ab":2})"},
                 {R"({"x":3})", R"({"a":2})", R"({"x":2,"a":null})"}},
        Language{
            R"({"additionalProperties":{"type":"integer"}})", {R"({"a\n":1})"}, {R"({"a":"b"})"}},
        Language{R"({"patternProperties":{"^n_":{"type":"integer"},"_s$":{"enum":[5,"x"]}},
                     "additionalProperties":false})",
                 {R"({"n_a":1})", R"({"b_s":"x","n_s":5})"},
                 {R"({"n_s":"x"})", R"({"n_s":1})", R"({"q":1})"}},
        Language{
            R"({"type":"object","properties":{"n_a":{}},"patternProperties":{"^n_":{"const":3}},
                     "required":["n_a","n_b"]})",
            {R"({"n_a":3,"n_b":3,"n_c":3})"},
            {R"({"n_a":1,"n_b":3})", R"({"n_a":3})"}},
        Language{R"({"required":["a"]})", {R"({"a":1})", R"({"a":[],"b":2})"}, {"{}"}},
        Language{R"({"type":"object","properties":{"a":false,"b":{"const":1}}})",
                 {"{}", R"({"b":1})"},
                 {R"({"a":1})"}},
        Language{R"({"properties":{"a":{"const":1},"b":{"const":1},"c":{"const":1}},
                     "minProperties":2})",
                 {R"({"a":1,"b":1})", R"({"b":1,"c":1})", R"({"a":1,"b":1,"c":1})"},
                 {"{}", R"({"a":1})"}},
        Language{R"({"additionalProperties":{"const":1},"maxProperties":2})",
                 {"{}", R"({"a":1,"b":1})"},
                 {R"({"a":1,"b":1,"c":1})"}},
        Language{R"({"type":"object","propertyNames":{"pattern":"^[a-c]{1,2}$"}})",
                 {R"({"ab":1})"},
                 {R"({"d":1})", R"({"abc":1})"}},
        Language{R"({"properties":{"say \"hi\"":{"const":1}}})", {R"({"say \"hi\"":1})"}, {}}));

INSTANTIATE_TEST_SUITE_P(
    Arrays, SchemaLanguage,
    testing::Values(
        Language{R"({"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":3})",
                 {"[1]", "[1, 2, 3]", "[1,2,\n3]"},
                 {"[]", "[1,2,3,4]", R"(["a"])"}},
        Language{R"({"prefixItems":[{"const":"a"},{"type":"integer"}],"items":{"type":"null"}})",
                 {"[]", R"(["a"])", R"(["a",1,null,null])"},
                 {"[1]", R"(["a",null])"}},
        Language{R"({"prefixItems":[{"const":1}],"items":false})", {"[]", "[1]"}, {"[1,2]"}},
        Language{R"({"items":{"const":1},"minItems":2})", {"[1,1]", "[1,1,1]"}, {"[1]"}},
        Language{R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"}}));

INSTANTIATE_TEST_SUITE_P(
    Combinations, SchemaLanguage,
    testing::Values(
        Language{R"({"anyOf":[{"type":"integer","minimum":5},{"type":"string","maxLength":1}]})",
                 {"5", R"("a")"},
                 {"4", R"("ab")"}},
        Language{R"({"allOf":[{"minimum":3},{"maximum":5}],"type":"integer"})", {"3", "5"}, {"2"}},
        Language{R"({"allOf":[{"properties":{"a":{"minimum":2}}},{"properties":{"a":{"maximum":3}},
                     "required":["a"]}],"properties":{"a":{"type":"integer"}}})",
                 {R"({"a":2})"},
                 {"{}", R"({"a":4})"}},
        Language{R"({"type":"object","properties":{"a":{"const":1},"b":{"const":2}},
                     "anyOf":[{"required":["a"]},{"required":["b"]}]})",
                 {R"({"a":1})", R"({"b":2})", R"({"a":1,"b":2})"},
                 {"{}"}},
        Language{R"({"oneOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]})",
                 {"1", "null", R"("x")"},
                 {"1.5", "[]"}},
        Language{R"({"oneOf":[{"properties":{"kind":{"const":"a"},"x":{"type":"integer"}},
                                "required":["kind"],"type":"object"},
                               {"properties":{"kind":{"enum":["b","c"]}},"required":["kind"],
                                "type":"object"}]})",
                 {R"({"kind":"a","x":1})", R"({"kind":"c"})"},
                 {R"({"kind":"b","x":1})", R"({"kind":"d"})"}},
        Language{R"({"oneOf":[{"type":"integer","maximum":3},{"type":"integer","minimum":4}]})",
                 {"3", "4"},
                 {}},
        Language{R"({"oneOf":[{"type":"string","pattern":"^a"},{"type":"string","pattern":"^b"}]})",
                 {R"("ax")", R"("b")"},
                 {R"("c")"}},
        Language{R"({"oneOf":[{"const":1},{"enum":[2,3]}]})", {"1", "2"}, {"4"}}));

INSTANTIATE_TEST_SUITE_P(
    References, SchemaLanguage,
    testing::Values(
        Language{R"({"$defs":{"n":{"type":"object","properties":{"l":{"anyOf":[{"$ref":"#/$defs/n"},
                       {"type":"null"}]},"k":{"$ref":"#/properties/list/items"}},
                       "required":["l","k"],"additionalProperties":false}},
                     "type":"object","properties":{"list":{"type":"array",
                       "prefixItems":[{"type":"integer"}],"items":{"type":"integer"}},
                       "t":{"$ref":"#/$defs/n"}}})",
                 {R"({"t":{"l":{"l":null,"k":1},"k":2}})", R"({"list":[1,2]})", "{}"},
                 {R"({"t":{"l":null}})", R"({"t":{"l":1,"k":1}})"}},
        Language{R"({"properties":{"list":{"prefixItems":[{"const":4}]},"a~b/c d":{"const":5},
                     "x":{"$ref":"#/properties/list/prefixItems/0"},
                     "y":{"$ref":"#/properties/a~0b~1c%20d"}}})",
                 {R"({"x":4,"y":5})"},
                 {R"({"x":5})"}},
        Language{
            R"({"$ref":"#/$defs/a","$defs":{"a":{"type":"integer"}},"minimum":3})", {"3"}, {"2"}},
        Language{R"({"type":"array","items":{"$ref":"#"}})", {"[]", "[[],[[]]]"}, {"[1]"}}));

TEST(Schema, ProseNeverChangesTheLanguage) {
  const std::vector<std::string> right{R"({"a":1})", R"({"a":1,"b":"x"})"};
  for (const std::string& prose :
       {std::string("\""), std::string("\\"), std::string("\n"), std::string("</tool_call>"),
        std::string("{{x}}"), std::string("\"root ::="), std::string(3000, 'x')}) {
    OrderedJson schema =
        parsed(R"({"properties":{"a":{"const":1},"b":{"type":"string"}},"required":["a"]})");
    for (const char* note : {"title", "description", "$comment", "x-note"}) {
      schema["properties"]["b"][note] = prose;
    }
    schema["properties"]["b"]["default"] = nullptr;
    schema["properties"]["b"]["examples"] = {prose};
    schema["properties"]["b"]["deprecated"] = true;
    const auto grammar = compiled(json_schema(schema, "s"), small_lexicon());
    for (const std::string& text : right) EXPECT_TRUE(is_answer(grammar, text)) << prose;
    EXPECT_FALSE(is_answer(grammar, R"({"b":"x"})"));
  }
}

TEST(Schema, WhatIsCompleteIsFinishedWhereNothingMayFollow) {
  EXPECT_EQ(verdict(of(R"({"type":"object"})"), "{}"), Verdict::kFinished);
  EXPECT_EQ(verdict(of(R"({"type":"integer"})"), "1"), Verdict::kComplete);
  EXPECT_EQ(verdict(of(R"({"enum":[1,12]})"), "1"), Verdict::kComplete);
  EXPECT_EQ(verdict(of(R"({"enum":[1,12]})"), "12"), Verdict::kFinished);
}

TEST(Schema, BlanksAreFew) {
  const auto grammar = of(R"({"properties":{"a":{"type":"integer"}},"required":["a"]})");
  EXPECT_EQ(verdict(grammar, "{\n" + std::string(16, ' ')), Verdict::kUnfinished);
  EXPECT_EQ(verdict(grammar, "{\n" + std::string(17, ' ')), Verdict::kRefused);
  EXPECT_EQ(verdict(grammar, "{\n\n"), Verdict::kRefused);
  EXPECT_EQ(verdict(grammar, "{  "), Verdict::kRefused);
  EXPECT_EQ(verdict(grammar, " "), Verdict::kRefused);
  Wish compact = json_schema(parsed(R"({"properties":{"a":{"const":1}}})"), "s");
  compact.compact = true;
  const auto tight = compiled(compact, small_lexicon());
  EXPECT_TRUE(is_answer(tight, R"({"a":1})"));
  EXPECT_FALSE(is_answer(tight, R"({"a": 1})"));
}

TEST(Schema, APropertyThatCannotEndIsNeverBegun) {
  const auto grammar = of(R"({"type":"object","properties":{"ok":{"const":1},
    "bad":{"type":"object","properties":{"bad":{"$ref":"#/properties/bad"}},"required":["bad"]}}})");
  EXPECT_EQ(verdict(grammar, R"({"ok":1})"), Verdict::kFinished);
  EXPECT_EQ(verdict(grammar, R"({"b)"), Verdict::kRefused);
}

struct Refusal {
  std::string schema;
  std::string field;
  std::string words;
};

class RefusedSchema : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedSchema, NamesTheKeywordAndItsPath) {
  const auto grammar = compile(json_schema(parsed(GetParam().schema), "s"), small_lexicon());
  ASSERT_FALSE(grammar.ok()) << GetParam().schema;
  EXPECT_EQ(grammar.error().code, Code::kInvalidArgument);
  EXPECT_EQ(grammar.error().field, GetParam().field);
  EXPECT_THAT(grammar.error().message, HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    Table, RefusedSchema,
    testing::Values(
        Refusal{"1", "s", "expected a schema"},
        Refusal{R"({"type":"strin"})", "s.type", "expected null, boolean"},
        Refusal{R"({"type":[]})", "s.type", "expected null, boolean"},
        Refusal{R"({"not":{"type":"null"}})", "s.not", "not is not supported"},
        Refusal{R"({"if":{},"then":{}})", "s.if", "if is not supported"},
        Refusal{R"({"type":"array","uniqueItems":true})", "s.uniqueItems", "not supported"},
        Refusal{R"({"contains":{}})", "s.contains", "contains is not supported"},
        Refusal{R"({"unevaluatedProperties":false})", "s.unevaluatedProperties", "not supported"},
        Refusal{R"({"dependentRequired":{}})", "s.dependentRequired", "not supported"},
        Refusal{R"({"type":"number","multipleOf":0.1})", "s.multipleOf", "multipleOf is supported"},
        Refusal{R"({"multipleOf":0})", "s.multipleOf", "expected a number above 0"},
        Refusal{R"({"type":"string","format":"iri"})", "s.format", "format \"iri\""},
        Refusal{R"({"type":"string","minLength":-1})", "s.minLength", "an integer from 0 on"},
        Refusal{R"({"type":"string","maxLength":100000})", "s", "at most 4000 characters"},
        Refusal{R"({"type":"string","pattern":"^ab\\@c{2$"})", "s.pattern", "no quantifier"},
        Refusal{R"s({"properties":{"v":{"type":"string","pattern":"(?=x)"}}})s",
                "s.properties.v.pattern", "look-around"},
        Refusal{R"({"type":"integer","minimum":"3"})", "s.minimum", "expected a number"},
        Refusal{R"({"enum":1})", "s.enum", "expected an array"},
        Refusal{R"({"enum":[]})", "s", "no answer can satisfy it"},
        Refusal{R"({"type":"integer","minimum":3,"maximum":2})", "s", "no answer"},
        Refusal{R"(false)", "s", "no answer"},
        Refusal{R"({"allOf":[{"type":"string"},{"type":"null"}]})", "s", "no answer"},
        Refusal{R"({"properties":{"a~b/c":{"$ref":"#/properties/a~0b~1c"}}})", "s.properties.a~b/c",
                "$ref: it refers to itself"},
        Refusal{R"({"allOf":[{"$ref":"#"}]})", "s", "refers to itself"},
        Refusal{R"({"$ref":"#/$defs/x"})", "s.$ref", "there is nothing at #/$defs/x"},
        Refusal{R"({"$ref":"http://x/y"})", "s.$ref", "only JSON pointers"},
        Refusal{R"({"$ref":1})", "s.$ref", "expected a string"},
        Refusal{R"({"items":[{}]})", "s.items", "called prefixItems now"},
        Refusal{R"({"properties":{"a":1}})", "s.properties.a", "expected a schema"},
        Refusal{R"({"required":["a"],"properties":{"a":false}})", "s", "no answer"},
        Refusal{R"({"required":[1]})", "s.required", "expected an array of strings"},
        Refusal{R"({"anyOf":[]})", "s.anyOf", "at least one schema"},
        Refusal{R"({"oneOf":[{"type":"integer"},{"minimum":3}]})", "s.oneOf",
                "s.oneOf[0] and s.oneOf[1] may both hold"},
        Refusal{R"({"oneOf":[{"properties":{"a":{"const":1}}},{"type":"string"}]})", "s.oneOf",
                "may both hold"},
        Refusal{R"({"type":"array","items":{},"maxItems":20000})", "s",
                "minItems and maxItems: expected at most 10000 repeats"},
        Refusal{R"({"additionalProperties":{"const":1},"minProperties":2})", "s",
                "minProperties is supported where"},
        Refusal{R"({"patternProperties":{"(":{}}})", "s.patternProperties.(", "unclosed group"}));

}  // namespace
}  // namespace kantha::grammar
