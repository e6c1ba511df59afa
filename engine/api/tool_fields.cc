#include "engine/api/tool_fields.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/api/generation_fields.h"
#include "engine/api/openai_error.h"

namespace kantha::api {
namespace {

Error unsupported(const std::string& path, const std::string& words) {
  Error error = unimplemented(path + ": " + words, path);
  error.reason = kReasonUnsupported;
  return error;
}

std::string in_quotes(const std::string& text) {
  return dump_json(Json(text.substr(0, kToolNameBytesMax)));
}

bool may_be_name(const std::string& name) {
  return !name.empty() && name.size() <= kToolNameBytesMax && std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.';
  });
}

/// `type` must be "function", of tools and of choices.
Status check_type(const JsonFields& fields) {
  TRY(const auto type, fields.string("type"));
  const std::string path = fields.path_of("type");
  if (!type) return missing_field(path);
  if (*type == "function") return ok_status();
  return unsupported(path, "expected \"function\", got " + in_quotes(*type));
}

Result<OrderedJson> read_parameters(const JsonFields& function) {
  TRY(const auto parameters, function.object("parameters"));
  if (!parameters) return OrderedJson(nullptr);
  const Json* type = parameters->find("type");
  const std::string path = parameters->path_of("type");
  if (type != nullptr && type->is_string() && *type != "object") {
    return invalid_argument(
        path + ": expected \"object\", got " + in_quotes(type->get<std::string>()), path);
  }
  return OrderedJson(*function.find("parameters"));
}

Result<dialect::Tool> read_tool(const JsonFields& fields) {
  TRY_OK(fields.check_object());
  TRY_OK(check_type(fields));
  TRY(const auto function, fields.object("function"));
  if (!function) return missing_field(fields.path_of("function"));
  TRY(const auto name, function->string("name"));
  const std::string path = function->path_of("name");
  if (!name) return missing_field(path);
  if (!may_be_name(*name)) {
    return invalid_argument(path + ": expected 1 to " + std::to_string(kToolNameBytesMax) +
                                " letters, digits, underscores, dashes and dots, got " +
                                in_quotes(*name),
                            path);
  }
  TRY(const auto description, function->string("description"));
  TRY(const auto strict, function->boolean("strict"));
  TRY(OrderedJson parameters, read_parameters(*function));
  return dialect::Tool{.name = *name,
                       .parameters = std::move(parameters),
                       .strict = strict.value_or(false),
                       .path = function->path_of("parameters")};
}

Result<dialect::Tools> read_tools(const JsonFields& fields, const Json& array) {
  dialect::Tools tools;
  for (std::size_t i = 0; i < array.size(); ++i) {
    const std::string path = fields.path_of("tools") + "[" + std::to_string(i) + "]";
    TRY(dialect::Tool tool, read_tool(JsonFields(array[i], path)));
    if (dialect::find_tool(tools, tool.name) != nullptr) {
      const std::string place = path + ".function.name";
      return invalid_argument(place + ": " + in_quotes(tool.name) + " is there twice", place);
    }
    tools.push_back(std::move(tool));
  }
  return tools;
}

Status read_named(const JsonFields& choice, const dialect::Tools& tools, ToolFields& request) {
  TRY_OK(check_type(choice));
  TRY(const auto function, choice.object("function"));
  if (!function) return missing_field(choice.path_of("function"));
  TRY(const auto name, function->string("name"));
  const std::string path = function->path_of("name");
  if (!name) return missing_field(path);
  if (dialect::find_tool(tools, *name) == nullptr) {
    return invalid_argument(path + ": " + in_quotes(*name) + " is not among tools", path);
  }
  request.choice = ToolChoice::kNamed;
  request.named = *name;
  return ok_status();
}

Status read_choice(const JsonFields& fields, const dialect::Tools& tools, ToolFields& request) {
  request.choice = tools.empty() ? ToolChoice::kNone : ToolChoice::kAuto;
  const Json* choice = fields.find("tool_choice");
  if (choice == nullptr) return ok_status();
  const std::string path = fields.path_of("tool_choice");
  if (choice->is_object()) return read_named(JsonFields(*choice, path), tools, request);
  if (!choice->is_string()) return wrong_type(path, "a string or an object", *choice);
  if (*choice == "none") {
    request.choice = ToolChoice::kNone;
  } else if (*choice == "required") {
    if (tools.empty()) return invalid_argument(path + ": only allowed with tools", path);
    request.choice = ToolChoice::kRequired;
  } else if (*choice != "auto") {
    return invalid_argument(path + ": expected none, auto, required or an object, got " +
                                in_quotes(choice->get<std::string>()),
                            path);
  }
  return ok_status();
}

}  // namespace

Result<ToolFields> read_tool_fields(const JsonFields& fields) {
  ToolFields request;
  TRY(const auto parallel, fields.boolean("parallel_tool_calls"));
  request.parallel = parallel.value_or(true);
  TRY(const Json* const array, fields.array("tools", kToolsMax));
  auto tools = std::make_shared<dialect::Tools>();
  if (array != nullptr) {
    TRY(*tools, read_tools(fields, *array));
  }
  TRY_OK(read_choice(fields, *tools, request));
  if (tools->empty() || request.choice == ToolChoice::kNone) return request;
  OrderedJson listed = *array;
  const std::size_t bytes = dump_json(listed).size();
  if (bytes > kToolBytesMax) {
    const std::string path = fields.path_of("tools");
    return invalid_argument(path + ": expected at most " + std::to_string(kToolBytesMax) +
                                " bytes of JSON, got " + std::to_string(bytes),
                            path);
  }
  request.listed = std::move(listed);
  request.offered = std::move(tools);
  return request;
}

namespace {

/// `listed`, which the reader made, with the keys in the order in which the client's own tool has
/// them, whichever API it is of.
OrderedJson in_order(const OrderedJson& own, const OrderedJson& listed) {
  const Json wanted(listed);
  if (Json(own) == wanted) return own;
  const OrderedJson& known = listed["function"];
  OrderedJson function = OrderedJson::object();
  for (const auto& [key, value] : own.items()) {
    const char* name = key == "input_schema" ? "parameters" : key.c_str();
    if (known.contains(name)) function[name] = value;
  }
  OrderedJson tool;
  tool["type"] = "function";
  tool["function"] = std::move(function);
  return Json(tool) == wanted ? tool : listed;
}

}  // namespace

void keep_order(const std::string& body, ToolFields& tools) {
  if (!tools.offered) return;
  const auto ordered = parse_ordered_json(body);
  CHECK(ordered.ok(), "it was read before");
  const OrderedJson& own = ordered->at("tools");
  CHECK(own.size() == tools.listed.size(), "no API's reader leaves a tool out");
  for (std::size_t i = 0; i < own.size(); ++i) {
    tools.listed[i] = in_order(own[i], tools.listed[i]);
  }
  auto offered = std::make_shared<dialect::Tools>(*tools.offered);
  for (std::size_t i = 0; i < offered->size(); ++i) {
    OrderedJson& parameters = (*offered)[i].parameters;
    if (!parameters.is_null()) parameters = tools.listed[i]["function"]["parameters"];
  }
  tools.offered = std::move(offered);
}

}  // namespace kantha::api
