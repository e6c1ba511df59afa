#include "tests/engine/dialect/dialect_outputs.h"

#include <memory>

namespace kantha::dialect {

SharedTools example_tools() {
  auto tools = std::make_shared<Tools>();
  const auto add = [&tools](const char* name, const char* schema) {
    tools->push_back({.name = name, .parameters = OrderedJson::parse(schema)});
  };
  add("get_weather", R"({"type":"object","properties":{"city":{"type":"string"},
                         "days":{"type":"integer"}},"required":["city"]})");
  add("add", R"({"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}}})");
  add("ping", "null");
  add("note", R"({"type":"object","properties":{"text":{"type":"string"}}})");
  add("shop.order", R"({"type":"object","properties":{"items":{"type":"array"},
      "count":{"anyOf":[{"type":"integer"},{"type":"null"}]}}})");
  return tools;
}

ParserOptions options_of(const OutputCase& output) {
  ParserOptions options;
  options.tools = tool_syntax_named(output.tool_parser).value();
  options.offered = example_tools();
  options.reasoning = reasoning_syntax_named(output.reasoning_parser).value();
  options.inside_reasoning = output.inside_reasoning;
  options.one_call = output.one_call;
  options.id_seed = 7;
  return options;
}

Parsed parse_pieces(const ParserOptions& options, const std::vector<std::string>& pieces) {
  OutputParser parser(options);
  Parsed all;
  for (const std::string& piece : pieces) all.append(parser.push(piece));
  all.append(parser.finish());
  return all;
}

std::string print(const Parsed& parsed) {
  std::string text = "reasoning[" + parsed.reasoning + "] content[" + parsed.content + "]";
  for (const CallDelta& call : parsed.calls) {
    text += " " + std::to_string(call.index) + ":" + call.id + ":" + call.name + "(" +
            call.arguments + ")";
  }
  return text;
}

namespace {

std::vector<OutputCase> plain_cases() {
  return {
      {.name = "text alone", .tool_parser = "hermes", .output = " Hi.\n\n", .content = " Hi.\n\n"},
      {.name = "nothing", .tool_parser = "hermes", .output = ""},
      {.name = "a lonely bracket", .tool_parser = "hermes", .output = "1 < 2", .content = "1 < 2"},
      {.name = "the beginning of a mark at the end",
       .tool_parser = "hermes",
       .output = "see <tool_ca",
       .content = "see <tool_ca"},
      {.name = "no parser leaves calls alone",
       .tool_parser = "none",
       .output = "<tool_call>{\"name\":\"ping\"}</tool_call>",
       .content = "<tool_call>{\"name\":\"ping\"}</tool_call>"},
  };
}

std::vector<OutputCase> hermes_cases() {
  return {
      {.name = "one call",
       .tool_parser = "hermes",
       .output = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n"
                 "</tool_call>",
       .calls = {{"get_weather", "{\"city\": \"Oslo\"}"}}},
      {.name = "text before and after a call",
       .tool_parser = "hermes",
       .output = "Let me look.\n\n<tool_call>{\"name\":\"ping\",\"arguments\":{}}</tool_call>\nOk.",
       .content = "Let me look.\n\n\nOk.",
       .calls = {{"ping", "{}"}}},
      {.name = "two calls",
       .tool_parser = "hermes",
       .output = "<tool_call>\n{\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}\n</tool_call>\n"
                 "<tool_call>\n{\"name\":\"ping\",\"arguments\":{}}\n</tool_call>",
       .calls = {{"add", "{\"a\":1,\"b\":2}"}, {"ping", "{}"}}},
      {.name = "two calls in one pair of marks",
       .tool_parser = "hermes",
       .output = "<tool_call>\n{\"name\":\"ping\",\"arguments\":{}}\n{\"name\":\"add\","
                 "\"arguments\":{\"a\":1}}\n</tool_call>",
       .calls = {{"ping", "{}"}, {"add", "{\"a\":1}"}}},
      {.name = "a list of calls",
       .tool_parser = "hermes",
       .output = "<tool_call>[{\"name\":\"ping\"},{\"name\":\"add\",\"arguments\":{\"a\":1}}]"
                 "</tool_call>",
       .calls = {{"ping", "{}"}, {"add", "{\"a\":1}"}}},
      {.name = "no arguments at all",
       .tool_parser = "hermes",
       .output = "<tool_call>{\"name\": \"ping\"}</tool_call>",
       .calls = {{"ping", "{}"}}},
      {.name = "arguments that are null",
       .tool_parser = "hermes",
       .output = "<tool_call>{\"name\": \"ping\", \"arguments\": null}</tool_call>",
       .calls = {{"ping", "{}"}}},
      {.name = "arguments before the name",
       .tool_parser = "hermes",
       .output = "<tool_call>{\"arguments\": {\"a\": [1, {\"x\": \"}\"}]}, \"name\": \"add\"}"
                 "</tool_call>",
       .calls = {{"add", "{\"a\": [1, {\"x\": \"}\"}]}"}}},
      {.name = "arguments in a string",
       .tool_parser = "hermes",
       .output =
           R"(<tool_call>{"name":"note","arguments":"{\"text\":\"a\\\"b\u00e9\ud83e\udda9\"}"})"
           "</tool_call>",
       .calls = {{"note", "{\"text\":\"a\\\"bé🦩\"}"}}},
      {.name = "a function inside of the call",
       .tool_parser = "hermes",
       .output = "<tool_call>{\"type\":\"function\",\"function\":{\"name\":\"add\",\"parameters\":"
                 "{\"a\":1}}}</tool_call>",
       .calls = {{"add", "{\"a\":1}"}}},
      {.name = "other members",
       .tool_parser = "hermes",
       .output = "<tool_call>{\"id\":\"x}\",\"n\":[1,{}],\"ok\":true,\"name\":\"ping\","
                 "\"arguments\":{},\"more\":1}</tool_call>",
       .calls = {{"ping", "{}"}}},
      {.name = "marks inside of an argument",
       .tool_parser = "hermes",
       .output =
           "<tool_call>{\"name\":\"note\",\"arguments\":{\"text\":\"</tool_call><tool_call>\\\"\"}"
           "}</tool_call>",
       .calls = {{"note", "{\"text\":\"</tool_call><tool_call>\\\"\"}"}}},
  };
}

std::vector<OutputCase> broken_hermes_cases() {
  return {
      {.name = "one brace too many",
       .tool_parser = "hermes",
       .output = "<tool_call>{\"name\":\"ping\",\"arguments\":{}}}\n</tool_call>",
       .calls = {{"ping", "{}"}}},
      {.name = "one brace too few",
       .tool_parser = "hermes",
       .output = "<tool_call>{\"name\":\"ping\",\"arguments\":{}\n</tool_call>",
       .calls = {{"ping", "{}"}}},
      {.name = "no closing mark",
       .tool_parser = "hermes",
       .output = "<tool_call>{\"name\":\"ping\",\"arguments\":{}}",
       .calls = {{"ping", "{}"}}},
      {.name = "half a closing mark",
       .tool_parser = "hermes",
       .output = "<tool_call>{\"name\":\"ping\",\"arguments\":{}}\n</tool_",
       .calls = {{"ping", "{}"}}},
      {.name = "cut in its arguments",
       .tool_parser = "hermes",
       .output = "<tool_call>{\"name\":\"note\",\"arguments\":{\"text\":\"a b",
       .calls = {{"note", "{\"text\":\"a b"}}},
      {.name = "cut before its arguments",
       .tool_parser = "hermes",
       .output = "Hm <tool_call>{\"name\":\"note\",\"argu",
       .content = "Hm <tool_call>{\"name\":\"note\",\"argu"},
      {.name = "an unknown function",
       .tool_parser = "hermes",
       .output = "<tool_call>{\"name\":\"fly\",\"arguments\":{}}</tool_call>",
       .content = "<tool_call>{\"name\":\"fly\",\"arguments\":{}}</tool_call>"},
      {.name = "no JSON",
       .tool_parser = "hermes",
       .output = "<tool_call>ping()</tool_call>",
       .content = "<tool_call>ping()</tool_call>"},
      {.name = "arguments that are a number",
       .tool_parser = "hermes",
       .output = "<tool_call>{\"name\":\"ping\",\"arguments\":3}</tool_call>",
       .content = "<tool_call>{\"name\":\"ping\",\"arguments\":3}</tool_call>"},
      {.name = "a broken call and a good one",
       .tool_parser = "hermes",
       .output = "<tool_call>\n<tool_call>{\"name\":\"ping\"}</tool_call>",
       .content = "<tool_call>",
       .calls = {{"ping", "{}"}}},
      {.name = "words before the closing mark",
       .tool_parser = "hermes",
       .output = "<tool_call>{\"name\":\"ping\"} done </tool_call>",
       .content = "done",
       .calls = {{"ping", "{}"}}},
      {.name = "the first call ends the answer",
       .tool_parser = "hermes",
       .output =
           "<tool_call>{\"name\":\"ping\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":"
           "\"add\",\"arguments\":{}}</tool_call> and more",
       .calls = {{"ping", "{}"}},
       .one_call = true},
  };
}

std::vector<OutputCase> llama_cases() {
  return {
      {.name = "llama: one call",
       .tool_parser = "llama3_json",
       .output = "{\"name\": \"add\", \"parameters\": {\"a\": 1, \"b\": 2}}",
       .calls = {{"add", "{\"a\": 1, \"b\": 2}"}}},
      {.name = "llama: after the mark",
       .tool_parser = "llama3_json",
       .output = "<|python_tag|>{\"name\": \"ping\", \"parameters\": {}}",
       .calls = {{"ping", "{}"}}},
      {.name = "llama: several",
       .tool_parser = "llama3_json",
       .output = "\n{\"name\": \"ping\", \"parameters\": {}}; {\"type\": \"function\", \"name\": "
                 "\"add\", \"parameters\": {\"a\": 1}}",
       .calls = {{"ping", "{}"}, {"add", "{\"a\": 1}"}}},
      {.name = "llama: arguments by their other name, deep, with brackets and quotes in texts",
       .tool_parser = "llama3_json",
       .output = R"({"name": "add", "arguments": {"a": {"b": {"c": [{"d": "x} \"{y}\" ]"}]}}}})",
       .calls = {{"add", R"({"a": {"b": {"c": [{"d": "x} \"{y}\" ]"}]}}})"}}},
      {.name = "llama: without a name",
       .tool_parser = "llama3_json",
       .output = "{\"parameters\": {\"a\": 1}}",
       .content = "{\"parameters\": {\"a\": 1}}"},
      {.name = "llama: words after the call",
       .tool_parser = "llama3_json",
       .output = "{\"name\": \"ping\", \"parameters\": {}}\n\nThat was it.",
       .content = "That was it.",
       .calls = {{"ping", "{}"}}},
      {.name = "llama: JSON that is the answer",
       .tool_parser = "llama3_json",
       .output = " {\"name\": \"Ann\", \"age\": 3}\n",
       .content = " {\"name\": \"Ann\", \"age\": 3}\n"},
      {.name = "llama: JSON after words is no call",
       .tool_parser = "llama3_json",
       .output = "Use {\"name\": \"ping\", \"parameters\": {}}",
       .content = "Use {\"name\": \"ping\", \"parameters\": {}}"},
      {.name = "llama: code after the mark",
       .tool_parser = "llama3_json",
       .output = "<|python_tag|>search.call(query=\"x\")",
       .content = "<|python_tag|>search.call(query=\"x\")"},
  };
}

std::vector<OutputCase> mistral_cases() {
  return {
      {.name = "mistral: a list",
       .tool_parser = "mistral",
       .output =
           "[TOOL_CALLS] [{\"name\": \"add\", \"arguments\": {\"a\": 1}, \"id\": \"abcdefghi\"},"
           " {\"name\": \"ping\", \"arguments\": {}}]",
       .calls = {{"add", "{\"a\": 1}"}, {"ping", "{}"}}},
      {.name = "mistral: text before",
       .tool_parser = "mistral",
       .output = "Well.[TOOL_CALLS][{\"name\":\"ping\",\"arguments\":{}}]",
       .content = "Well.",
       .calls = {{"ping", "{}"}}},
      {.name = "mistral: named",
       .tool_parser = "mistral",
       .output = "[TOOL_CALLS]add[ARGS]{\"a\": 1}[TOOL_CALLS]ping{}",
       .calls = {{"add", "{\"a\": 1}"}, {"ping", "{}"}}},
      {.name = "mistral: named with an id",
       .tool_parser = "mistral",
       .output = "[TOOL_CALLS]add[CALL_ID]abcdefghi[ARGS]{\"a\":1}",
       .calls = {{"add", "{\"a\":1}"}}},
      {.name = "mistral: the second one is broken",
       .tool_parser = "mistral",
       .output = "[TOOL_CALLS][{\"name\":\"ping\",\"arguments\":{}}, {\"name\":\"fly\"}]",
       .content = "{\"name\":\"fly\"}]",
       .calls = {{"ping", "{}"}}},
      {.name = "mistral: cut list",
       .tool_parser = "mistral",
       .output = "[TOOL_CALLS][{\"name\":\"ping\",\"arguments\":{}},",
       .calls = {{"ping", "{}"}}},
      {.name = "mistral: no function",
       .tool_parser = "mistral",
       .output = "[TOOL_CALLS]nothing to do {x}",
       .content = "[TOOL_CALLS]nothing to do {x}"},
  };
}

std::vector<OutputCase> pythonic_cases() {
  return {
      {.name = "pythonic: two calls",
       .tool_parser = "pythonic",
       .output = "[get_weather(city='Oslo', days=3), ping()]",
       .calls = {{"get_weather", "{\"city\": \"Oslo\", \"days\": 3}"}, {"ping", "{}"}}},
      {.name = "pythonic: literals",
       .tool_parser = "pythonic",
       .output = "[add(a=[1, 2.5, -.5, (True, None,), {}], b={'k': False, \"l\": []})]",
       .calls = {{"add",
                  "{\"a\": [1, 2.5, -0.5, [true, null], {}], \"b\": {\"k\": false, \"l\": []}}"}}},
      {.name = "pythonic: signs, a name with a dot, names that Python keeps for itself",
       .tool_parser = "pythonic",
       .output = "[shop.order(items=['a', \"b\"], count=+7, from=-1, in={\"min\": -5})]",
       .calls = {{"shop.order",
                  "{\"items\": [\"a\", \"b\"], \"count\": 7, \"from\": -1, \"in\": "
                  "{\"min\": -5}}"}}},
      {.name = "pythonic: a set, which JSON does not have",
       .tool_parser = "pythonic",
       .output = "[add(a={'x', 'y'})]",
       .content = ", 'y'})]",
       .calls = {{"add", "{\"a\": {\"x\""}}},
      {.name = "pythonic: numbers that begin with zeros",
       .tool_parser = "pythonic",
       .output = "[add(a=07, b=[0, 00, 0.5, -08])]",
       .calls = {{"add", "{\"a\": 7, \"b\": [0, 0, 0.5, -8]}"}}},
      {.name = "pythonic: no calls between the marks",
       .tool_parser = "pythonic",
       .output = "Done.<|tool_call_start|>[]<|tool_call_end|>",
       .content = "Done.<|tool_call_start|>[]<|tool_call_end|>"},
      {.name = "pythonic: blanks and lines between the calls",
       .tool_parser = "pythonic",
       .output = "<|tool_call_start|> [ping() ,\n note(text='a') ]<|tool_call_end|>",
       .calls = {{"ping", "{}"}, {"note", "{\"text\": \"a\"}"}}},
      {.name = "pythonic: quotes and escapes",
       .tool_parser = "pythonic",
       .output = R"([note(text='it\'s "q"\n\x41\u00e9\\ 🦩)])"
                 "\t"
                 R"(')])",
       .calls = {{"note", R"({"text": "it's \"q\"\n\u0041\u00e9\\ 🦩)]\t"})"}}},
      {.name = "pythonic: between marks",
       .tool_parser = "pythonic",
       .output = "Ok <|tool_call_start|>[ping()]<|tool_call_end|>done",
       .content = "Ok done",
       .calls = {{"ping", "{}"}}},
      {.name = "pythonic: a list that is the answer",
       .tool_parser = "pythonic",
       .output = "[1, 2, 3]",
       .content = "[1, 2, 3]"},
      {.name = "pythonic: an unknown function",
       .tool_parser = "pythonic",
       .output = "[fly(to='x')]",
       .content = "[fly(to='x')]"},
      {.name = "pythonic: an expression",
       .tool_parser = "pythonic",
       .output = "[add(a=1+x(2), b=3)] hm",
       .content = "(2), b=3)] hm",
       .calls = {{"add", "{\"a\": 1+x"}}},
      {.name = "pythonic: cut",
       .tool_parser = "pythonic",
       .output = "[note(text='abc",
       .calls = {{"note", "{\"text\": \"abc"}}},
  };
}

std::vector<OutputCase> deepseek_cases() {
  return {
      {.name = "deepseek: V3",
       .tool_parser = "deepseek_v3",
       .output =
           "Ok.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n"
           "{\"a\": 1}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>ping\n"
           "```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
       .content = "Ok.",
       .calls = {{"add", "{\"a\": 1}"}, {"ping", "{}"}}},
      {.name = "deepseek: V3.1",
       .tool_parser = "deepseek_v3",
       .output = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{\"a\": 1}"
                 "<｜tool▁call▁end｜><｜tool▁call▁begin｜>ping<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
                 "<｜tool▁calls▁end｜>",
       .calls = {{"add", "{\"a\": 1}"}, {"ping", "{}"}}},
      {.name = "deepseek: arguments over several lines, and words after the calls",
       .tool_parser = "deepseek_v3",
       .output =
           "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{\n  \"a\": 1,\n  \"b\": "
           "[\n2\n]\n}<｜tool▁call▁end｜><｜tool▁calls▁end｜>It is 3.",
       .content = "It is 3.",
       .calls = {{"add", "{\n  \"a\": 1,\n  \"b\": [\n2\n]\n}"}}},
      {.name = "deepseek: without the outer marks",
       .tool_parser = "deepseek_v3",
       .output = "<｜tool▁call▁begin｜>ping<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
       .calls = {{"ping", "{}"}}},
      {.name = "deepseek: an unknown function",
       .tool_parser = "deepseek_v3",
       .output =
           "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>fly<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
       .content =
           "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>fly<｜tool▁sep｜>{}<｜tool▁call▁end｜>"},
      {.name = "deepseek: with reasoning",
       .tool_parser = "deepseek_v3",
       .output =
           "I think.\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>ping<｜tool▁sep｜>{}"
           "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
       .reasoning = "I think.",
       .calls = {{"ping", "{}"}},
       .reasoning_parser = "deepseek_r1"},
  };
}

std::vector<OutputCase> xml_cases() {
  return {
      {.name = "xml: parameters by their schema",
       .tool_parser = "qwen3_coder",
       .output = "Sure.\n<tool_call>\n<function=get_weather>\n<parameter=city>\n12 \"Oslo\"\nÅs\n"
                 "</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
       .content = "Sure.",
       .calls = {{"get_weather", "{\"city\": \"12 \\\"Oslo\\\"\\nÅs\", \"days\": 3}"}}},
      {.name = "xml: no parameters",
       .tool_parser = "qwen3_coder",
       .output = "<tool_call><function=ping></function></tool_call>",
       .calls = {{"ping", "{}"}}},
      {.name = "xml: a function without the outer marks",
       .tool_parser = "qwen3_coder",
       .output = "<function=add><parameter=a>[1, 2]</parameter><parameter=b>True</parameter>"
                 "</function>",
       .calls = {{"add", "{\"a\": [1, 2], \"b\": true}"}}},
      {.name = "xml: what is no JSON stays a string",
       .tool_parser = "qwen3_coder",
       .output = "<function=add><parameter=a>one</parameter></function>",
       .calls = {{"add", "{\"a\": \"one\"}"}}},
      {.name = "xml: blanks inside of a text are its own, one line break at either end is not",
       .tool_parser = "qwen3_coder",
       .output = "<function=note><parameter=text>\n  def f():\n    pass\n\n</parameter></function>",
       .calls = {{"note", "{\"text\": \"  def f():\\n    pass\\n\"}"}}},
      {.name = "xml: null, objects and whole numbers of any size keep their types",
       .tool_parser = "qwen3_coder",
       .output = "<function=shop.order><parameter=items>[{\"x\": 9007199254740993}]</parameter>"
                 "<parameter=count>null</parameter></function>",
       .calls = {{"shop.order", "{\"items\": [{\"x\": 9007199254740993}], \"count\": null}"}}},
      {.name = "xml: numbers that JSON does not have stay texts",
       .tool_parser = "qwen3_coder",
       .output =
           "<function=add><parameter=a>NaN</parameter><parameter=b>inf</parameter></function>",
       .calls = {{"add", "{\"a\": \"NaN\", \"b\": \"inf\"}"}}},
      {.name = "xml: null is a text where the schema says text",
       .tool_parser = "qwen3_coder",
       .output = "<function=note><parameter=text>null</parameter></function>",
       .calls = {{"note", "{\"text\": \"null\"}"}}},
      {.name = "xml: two calls with words between",
       .tool_parser = "qwen3_coder",
       .output = "a<tool_call><function=ping></function></tool_call>b<tool_call><function=ping>"
                 "</function></tool_call>",
       .content = "ab",
       .calls = {{"ping", "{}"}, {"ping", "{}"}}},
      {.name = "xml: cut in a parameter",
       .tool_parser = "qwen3_coder",
       .output = "<tool_call><function=note><parameter=text>a < b",
       .calls = {{"note", "{\"text\": \"a < b"}}},
      {.name = "xml: an unknown function",
       .tool_parser = "qwen3_coder",
       .output = "<tool_call>\n<function=fly>\n</function>\n</tool_call>",
       .content = "<tool_call>\n<function=fly>\n</function>\n</tool_call>"},
  };
}

std::vector<OutputCase> reasoning_cases() {
  return {
      {.name = "reasoning: before the answer",
       .tool_parser = "hermes",
       .output = "<think>\nFirst,\n\nthen.\n</think>\n\nYes.\n",
       .reasoning = "First,\n\nthen.",
       .content = "Yes.\n",
       .reasoning_parser = "think"},
      {.name = "reasoning: opened by the prompt",
       .tool_parser = "hermes",
       .output = "\nFirst.</think>Yes.",
       .reasoning = "First.",
       .content = "Yes.",
       .reasoning_parser = "think",
       .inside_reasoning = true},
      {.name = "reasoning: opened twice",
       .tool_parser = "hermes",
       .output = "<think>First.</think>Yes.",
       .reasoning = "First.",
       .content = "Yes.",
       .reasoning_parser = "think",
       .inside_reasoning = true},
      {.name = "reasoning: empty",
       .tool_parser = "hermes",
       .output = "<think>\n\n</think>\n\nYes.",
       .content = "Yes.",
       .reasoning_parser = "think"},
      {.name = "reasoning: none",
       .tool_parser = "hermes",
       .output = " <thin air>",
       .content = " <thin air>",
       .reasoning_parser = "think"},
      {.name = "reasoning: a mark after words is text",
       .tool_parser = "hermes",
       .output = "Write <think> and </think>.",
       .content = "Write <think> and </think>.",
       .reasoning_parser = "think"},
      {.name = "reasoning: cut",
       .tool_parser = "hermes",
       .output = "<think>I am </thi",
       .reasoning = "I am </thi",
       .reasoning_parser = "think"},
      {.name = "reasoning: calls inside of it are none",
       .tool_parser = "hermes",
       .output = "<think>maybe <tool_call>{\"name\":\"ping\"}</tool_call>?</think>"
                 "<tool_call>{\"name\":\"add\",\"arguments\":{}}</tool_call>",
       .reasoning = "maybe <tool_call>{\"name\":\"ping\"}</tool_call>?",
       .calls = {{"add", "{}"}},
       .reasoning_parser = "think"},
      {.name = "reasoning: mistral",
       .tool_parser = "mistral",
       .output = "[THINK]Hm.[/THINK]Yes.[TOOL_CALLS]ping[ARGS]{}",
       .reasoning = "Hm.",
       .content = "Yes.",
       .calls = {{"ping", "{}"}},
       .reasoning_parser = "mistral"},
  };
}

std::vector<OutputCase> odd_reasoning_cases() {
  return {
      {.name = "reasoning: only the first end is one",
       .tool_parser = "hermes",
       .output = "First</think>Middle</think>Last",
       .reasoning = "First",
       .content = "Middle</think>Last",
       .reasoning_parser = "think",
       .inside_reasoning = true},
      {.name = "reasoning: opened again inside of itself",
       .tool_parser = "hermes",
       .output = "<think>Outer<think>Inner</think>Content",
       .reasoning = "Outer<think>Inner",
       .content = "Content",
       .reasoning_parser = "think"},
      {.name = "reasoning: a model that always reasons needs no opening",
       .tool_parser = "hermes",
       .output = "So.</think>Yes.",
       .reasoning = "So.",
       .content = "Yes.",
       .reasoning_parser = "deepseek_r1"},
      {.name = "reasoning: never ended",
       .tool_parser = "hermes",
       .output = "<think>So it is",
       .reasoning = "So it is",
       .reasoning_parser = "think"},
  };
}

}  // namespace

const std::vector<OutputCase>& output_cases() {
  static const std::vector<OutputCase> cases = [] {
    std::vector<OutputCase> all;
    for (const auto& some : {plain_cases(), hermes_cases(), broken_hermes_cases(), llama_cases(),
                             mistral_cases(), pythonic_cases(), deepseek_cases(), xml_cases(),
                             reasoning_cases(), odd_reasoning_cases()}) {
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }();
  return cases;
}

}  // namespace kantha::dialect
