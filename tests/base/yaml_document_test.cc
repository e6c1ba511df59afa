#include "base/yaml_document.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace kantha {
namespace {

Json read_one(const std::string& text) {
  const YamlText yaml = read_yaml(text);
  for (const YamlProblem& p : yaml.problems) {
    ADD_FAILURE() << text << ": line " << p.line << ": " << p.problem.path << ": "
                  << p.problem.message;
  }
  if (yaml.documents.size() != 1) {
    ADD_FAILURE() << text << ": " << yaml.documents.size() << " documents";
    return {};
  }
  return yaml.documents[0].root;
}

TEST(YamlDocument, ScalarsMeanWhatYaml12Says) {
  const struct {
    const char* text;
    const char* json;
  } cases[] = {
      {"a: 2", R"({"a":2})"},
      {"a: \"2\"", R"({"a":"2"})"},
      {"a: '2'", R"({"a":"2"})"},
      {"a: -3", R"({"a":-3})"},
      {"a: +3", R"({"a":3})"},
      {"a: 0", R"({"a":0})"},
      {"a: 1.5", R"({"a":1.5})"},
      {"a: 1e3", R"({"a":1000.0})"},
      {"a: 0.92", R"({"a":0.92})"},
      {"a: true", R"({"a":true})"},
      {"a: False", R"({"a":false})"},
      {"a: yes", R"({"a":"yes"})"},
      {"a: no", R"({"a":"no"})"},
      {"a: on", R"({"a":"on"})"},
      {"a: y", R"({"a":"y"})"},
      {"a: \"true\"", R"({"a":"true"})"},
      {"a: null", R"({"a":null})"},
      {"a: ~", R"({"a":null})"},
      {"a:", R"({"a":null})"},
      {"a: \"\"", R"({"a":""})"},
      {"a: 1_000", R"({"a":"1_000"})"},
      {"a: 12:30", R"({"a":"12:30"})"},
      {"a: 2Gi", R"({"a":"2Gi"})"},
      {"a: 25%", R"({"a":"25%"})"},
      {"a: 1.2.3", R"({"a":"1.2.3"})"},
      {"a: .", R"({"a":"."})"},
      {"a: !!str 2", R"({"a":"2"})"},
      {"a: !!int 2", R"({"a":2})"},
      {"1: a", R"({"1":"a"})"},
      {"true: a", R"({"true":"a"})"},
      {"a: |\n  two\n  lines\n", R"({"a":"two\nlines\n"})"},
      {"a: >\n  one\n  line\n", R"({"a":"one line\n"})"},
      {"a: {b: [1, x], c: {}}", R"({"a":{"b":[1,"x"],"c":{}}})"},
      {"- 1\n- b: 2\n", R"([1,{"b":2}])"},
      {"a: 1 # why\n", R"({"a":1})"},
      {"{a: 1}", R"({"a":1})"},
      {"---\na: 1\n...\n", R"({"a":1})"},
      {"--- {a: 1}\n", R"({"a":1})"},
      {"\xEF\xBB\xBF"
       "a: 1\r\nb: 2\r\n",
       R"({"a":1,"b":2})"},
      {"a: 'Zürich \xF0\x9F\x98\x80'", "{\"a\":\"Zürich \xF0\x9F\x98\x80\"}"},
      {"a: 9223372036854775807", R"({"a":9223372036854775807})"},
  };
  for (const auto& c : cases) EXPECT_EQ(read_one(c.text), Json::parse(c.json)) << c.text;
}

TEST(YamlDocument, RefusalsNameTheLineAndThePath) {
  const struct {
    const char* name;
    const char* text;
    int line;
    const char* path;
    const char* message;
  } cases[] = {
      {"a repeated key", "a: 1\nb: 2\na: 3\n", 3, "a", "given twice"},
      {"a repeated key inside", "x:\n  a: 1\n  a: {b: 1}\n", 3, "x.a", "given twice"},
      {"a quoted repeat of a plain key", "a: 1\n\"a\": 2\n", 2, "a", "given twice"},
      {"a number that may be octal", "a:\n  b: 010\n", 2, "a.b", "010"},
      {"a hexadecimal number", "a: 0x1f", 1, "a", "0x1f"},
      {"infinity", "a: .inf", 1, "a", ".inf"},
      {"a number beyond 64 bits", "a: 99999999999999999999", 1, "a", "64 bits"},
      {"a number beyond double", "a: 1e999", 1, "a", "double"},
      {"a merge key", "b: &x {c: 1}\na:\n  <<: *x\n", 3, "a", "merge keys"},
      {"an unknown tag", "a: !thing 1", 1, "a", "tag"},
      {"a tag of Python", "a: !!python/object:os.system x", 1, "a", "tag"},
      {"a tag that does not fit", "a: !!int x", 1, "a", "!!int"},
      {"a list as key", "? [a, b]\n: 1\n", 1, "", "key"},
      {"an alias to nothing", "a: *nope", 1, "", "YAML"},
      {"an alias to what surrounds it", "a: &x [1, *x]", 1, "a[1]", "alias"},
      {"a tab as indentation", "a:\n\tb: 1\n", 2, "", "YAML"},
      {"an open list", "a: [1, 2\n", 0, "", "YAML"},
      {"an open quote", "a: \"x\n", 0, "", "YAML"},
      {"two values in one line", "a: b: c", 1, "", "YAML"},
      {"a bracket too many", "a: 1\n]\n", 2, "", ""},
      {"NUL bytes", "a: \x01", 1, "", "control"},
      {"text in Latin-1", "a: 1\nb: Z\xFCrich", 2, "", "UTF-8"},
      {"an overlong encoding", "a: \xC0\xAF", 1, "", "UTF-8"},
  };
  for (const auto& c : cases) {
    const YamlText yaml = read_yaml(c.text);
    ASSERT_FALSE(yaml.problems.empty()) << c.name;
    const YamlProblem& p = yaml.problems.front();
    if (c.line > 0) EXPECT_EQ(p.line, c.line) << c.name;
    EXPECT_EQ(p.problem.path, c.path) << c.name << ": " << p.problem.message;
    EXPECT_NE(p.problem.message.find(c.message), std::string::npos)
        << c.name << ": " << p.problem.message;
  }
}

TEST(YamlDocument, SeveralProblemsAreToldAtOnce) {
  const YamlText yaml = read_yaml("a: 010\nb: 1\nb: 2\nc: 0x1\n");
  EXPECT_EQ(yaml.problems.size(), 3u);
}

TEST(YamlDocument, DocumentsAreCutAtMarkersAndEmptyOnesDoNotCount) {
  const YamlText yaml = read_yaml("# head\n---\n---\na: 1\n---\n# nothing\n---\nb: |\n  --- x\n");
  ASSERT_TRUE(yaml.problems.empty()) << yaml.problems[0].problem.message;
  ASSERT_EQ(yaml.documents.size(), 2u);
  EXPECT_EQ(yaml.documents[0].line, 3);
  EXPECT_EQ(yaml.documents[0].line_of("a"), 4);
  EXPECT_EQ(yaml.documents[1].root["b"], "--- x\n");
  EXPECT_TRUE(read_yaml("").documents.empty());
  EXPECT_TRUE(read_yaml("# only words\n").documents.empty());
  EXPECT_TRUE(read_yaml("---\n...\n").documents.empty());
}

TEST(YamlDocument, LinesAreKnownByPathAndFallBackOnWhatIsAround) {
  const YamlText yaml = read_yaml("spec:\n  rings:\n  - name: a\n  - name: b\n    size: 2\n");
  ASSERT_EQ(yaml.documents.size(), 1u);
  const YamlDocument& document = yaml.documents[0];
  EXPECT_EQ(document.line_of("spec.rings[1].size"), 5);
  EXPECT_EQ(document.line_of("spec.rings[1].name"), 4);
  EXPECT_EQ(document.line_of("spec.rings[0].size"), 3) << "absent: its entry's line";
  EXPECT_EQ(document.line_of("other"), 1);
}

TEST(YamlDocument, AliasesUnfoldWithinABound) {
  EXPECT_EQ(read_one("a: &x {b: [1, 2]}\nc: *x\n"),
            Json::parse(R"({"a":{"b":[1,2]},"c":{"b":[1,2]}})"));
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string ref = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + ref;
    for (int j = 1; j < 10; ++j) bomb += ", " + ref;
    bomb += "]\n";
  }
  const YamlText yaml = read_yaml(bomb);
  ASSERT_FALSE(yaml.problems.empty());
  EXPECT_NE(yaml.problems[0].problem.message.find("unfolds"), std::string::npos);
  std::string long_text = "a: &a " + std::string(100'000, 'x') + "\nb: [*a";
  for (int i = 0; i < 1000; ++i) long_text += ", *a";
  EXPECT_FALSE(read_yaml(long_text + "]\n").problems.empty()) << "100 MB of text";
}

TEST(YamlDocument, SizeDepthAndCountAreBounded) {
  const auto message = [](const std::string& text) {
    const YamlText yaml = read_yaml(text);
    return yaml.problems.empty() ? std::string() : yaml.problems[0].problem.message;
  };
  EXPECT_NE(message(std::string((1 << 20) + 1, ' ')).find("1048576"), std::string::npos);
  EXPECT_EQ(message(std::string(64, '[') + std::string(64, ']')), "");
  EXPECT_NE(message(std::string(65, '[') + std::string(65, ']')).find("64 levels"),
            std::string::npos);
  std::string many;
  for (int i = 0; i < 70; ++i) many += "---\na: 1\n";
  EXPECT_NE(message(many).find("70 documents"), std::string::npos);
  EXPECT_NE(message(std::string(600, 'k') + ": 1").find("key"), std::string::npos);
}

TEST(YamlDocument, ALotOfTroubleEndsSoon) {
  const std::size_t size = 256 << 10;
  const auto repeat = [&](const std::string& unit) {
    std::string out;
    while (out.size() + unit.size() <= size) out += unit;
    return out;
  };
  for (const char* unit :
       {"[",   "{",     "- ",     "? ",    "a: ", "&a ", "!!",     "\"",    "'", "|\n",
        ": ",  "*a ",   "a: 1\n", "- x\n", "#",   "\n",  ",",      "]",     "%", "- - ",
        "a\n", "? a\n", "[a, ",   "{a: ",  "-\n", "\t",  "--- \n", "...\n", "`", "@"}) {
    const TimePoint start = system_clock().now();
    const YamlText yaml = read_yaml(repeat(unit));
    const double seconds = std::chrono::duration<double>(system_clock().now() - start).count();
    EXPECT_LT(seconds, 5.0) << "256 KiB of " << unit << " took " << seconds << " s";
  }
}

}  // namespace
}  // namespace kantha
