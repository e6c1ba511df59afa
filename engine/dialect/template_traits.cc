#include "engine/dialect/template_traits.h"

#include <utility>

namespace kantha::dialect {
namespace {

constexpr const char* kName = "kantha_probe";
constexpr const char* kKey = "kantha_key";
constexpr const char* kShortId = "call00000";
constexpr const char* kLongId = "call_000000000000000000000000";

OrderedJson probe_tools() {
  OrderedJson function;
  function["name"] = kName;
  function["description"] = "Probe.";
  function["parameters"]["type"] = "object";
  function["parameters"]["properties"][kKey]["type"] = "string";
  function["parameters"]["required"] = OrderedJson::array({kKey});
  OrderedJson tool;
  tool["type"] = "function";
  tool["function"] = std::move(function);
  return OrderedJson::array({std::move(tool)});
}

OrderedJson message(const char* role, const char* content) {
  OrderedJson message;
  message["role"] = role;
  message["content"] = content;
  return message;
}

struct ProbeCall {
  bool as_text = false;
  const char* id = kShortId;
};

/// A question, a call, and its result, without which some templates refuse.
OrderedJson conversation(const std::optional<ProbeCall>& call) {
  OrderedJson messages = OrderedJson::array({message("user", "q")});
  OrderedJson answer = message("assistant", "");
  if (call) {
    OrderedJson arguments;
    arguments[kKey] = "v";
    OrderedJson entry;
    entry["id"] = call->id;
    entry["type"] = "function";
    entry["function"]["name"] = kName;
    if (call->as_text) {
      entry["function"]["arguments"] = dump_json(arguments);
    } else {
      entry["function"]["arguments"] = std::move(arguments);
    }
    answer["tool_calls"] = OrderedJson::array({std::move(entry)});
  }
  messages.push_back(std::move(answer));
  if (call) {
    OrderedJson result = message("tool", "r");
    result["tool_call_id"] = call->id;
    result["name"] = kName;
    messages.push_back(std::move(result));
  }
  return messages;
}

/// The text has the arguments as JSON, not as Python's or once more escaped.
bool has_json_key(const std::optional<std::string>& text) {
  return text && text->find('"' + std::string(kKey) + '"') != text->npos;
}

/// The marks around the call, without the result that follows it where the template allows that.
std::optional<ToolSyntax> marks_around(const Render& render, bool as_text) {
  OrderedJson called = conversation(ProbeCall{.as_text = as_text});
  called.erase(called.size() - 1);
  const auto with_call = render(called, nullptr);
  // A text that begins and ends as no mark does, so that the two part exactly where the call is.
  OrderedJson said = conversation(std::nullopt);
  said.back()["content"] = "~probe~";
  const auto without_call = render(said, nullptr);
  if (!with_call || !without_call) return std::nullopt;
  return tool_syntax_around(*with_call, *without_call, kName);
}

}  // namespace

TemplateTraits probe_template(const Render& render) {
  TemplateTraits traits;
  const OrderedJson tools = probe_tools();
  const auto offered = render(OrderedJson::array({message("user", "q")}), tools);
  traits.shows_tools = offered && offered->find(kName) != offered->npos;
  const auto as_object = render(conversation(ProbeCall{}), tools);
  if (has_json_key(as_object)) {
    traits.shows_calls = true;
  } else {
    const auto as_text = render(conversation(ProbeCall{.as_text = true}), tools);
    traits.arguments_as_text = has_json_key(as_text);
    traits.shows_calls = traits.arguments_as_text || as_object.has_value();
  }
  const bool as_text = traits.arguments_as_text;
  const bool takes_short = render(conversation(ProbeCall{.as_text = as_text}), tools).has_value();
  const bool takes_long =
      render(conversation(ProbeCall{.as_text = as_text, .id = kLongId}), tools).has_value();
  traits.short_ids = takes_short && !takes_long;
  traits.syntax = marks_around(render, as_text);
  return traits;
}

Result<Dialect> choose_dialect(const std::string& tools, const std::string& reasoning,
                               const std::string& template_source, const Render& render) {
  Dialect dialect;
  dialect.traits = probe_template(render);
  if (reasoning == "auto") {
    dialect.reasoning = reasoning_syntax_in(template_source);
  } else {
    TRY(dialect.reasoning, reasoning_syntax_named(reasoning));
  }
  if (tools != "auto") {
    TRY(dialect.tools, tool_syntax_named(tools));
    dialect.own_prompt = dialect.tools.style == ToolStyle::kJson && !dialect.traits.shows_tools;
    return dialect;
  }
  auto known = tool_syntax_in(template_source);
  if (!known) known = dialect.traits.syntax;
  dialect.own_prompt = !known || !dialect.traits.shows_tools;
  if (dialect.own_prompt) {
    TRY(dialect.tools, tool_syntax_named("hermes"));
  } else {
    dialect.tools = *known;
  }
  return dialect;
}

}  // namespace kantha::dialect
