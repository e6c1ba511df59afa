#include "engine/api/request_support.h"

#include <array>
#include <cmath>
#include <string>

#include "engine/api/generation_fields.h"
#include "engine/api/openai_error.h"

namespace kantha::api {
namespace {

enum class Type { kAny, kBool, kInteger, kNumber, kString, kArray, kObject, kStringOrObject };
enum class Apis { kBoth, kChat, kCompletion };

bool is_type(const Json& json, Type type) {
  switch (type) {
    case Type::kAny: return true;
    case Type::kBool: return json.is_boolean();
    case Type::kInteger:
      return json.is_number_integer() ||
             (json.is_number_float() && std::trunc(json.get<double>()) == json.get<double>());
    case Type::kNumber: return json.is_number();
    case Type::kString: return json.is_string();
    case Type::kArray: return json.is_array();
    case Type::kObject: return json.is_object();
    case Type::kStringOrObject: return json.is_string() || json.is_object();
  }
  return false;
}

std::string_view type_words(Type type) {
  switch (type) {
    case Type::kBool: return "a boolean";
    case Type::kInteger: return "an integer";
    case Type::kNumber: return "a number";
    case Type::kString: return "a string";
    case Type::kArray: return "an array";
    case Type::kObject: return "an object";
    default: return "a string or an object";
  }
}

bool never(const Json&) { return false; }
bool always(const Json&) { return true; }
bool is_empty(const Json& json) { return json.empty(); }
bool is_empty_text(const Json& json) { return json.get_ref<const std::string&>().empty(); }
bool is_none_word(const Json& json) { return json == "none"; }
bool is_medium_word(const Json& json) { return json == "medium"; }
bool is_zero(const Json& json) { return json.get<double>() == 0; }
bool is_one(const Json& json) { return json.get<double>() == 1; }
bool is_not_positive(const Json& json) { return json.get<double>() <= 0; }
bool is_false(const Json& json) { return !json.get<bool>(); }
bool is_true(const Json& json) { return json.get<bool>(); }
bool is_text_modality(const Json& json) { return json == Json::array({"text"}); }

/// One known field: its type, the APIs that have it, and the values that change nothing.
struct Rule {
  const char* name;
  Type type;
  Apis apis;
  bool (*harmless)(const Json&);
};

constexpr std::array kRules{
    Rule{"length_penalty", Type::kNumber, Apis::kBoth, is_one},
    Rule{"use_beam_search", Type::kBool, Apis::kBoth, is_false},
    Rule{"mirostat", Type::kInteger, Apis::kBoth, is_zero},
    Rule{"dynatemp_range", Type::kNumber, Apis::kBoth, is_zero},
    Rule{"xtc_probability", Type::kNumber, Apis::kBoth, is_zero},
    Rule{"dry_multiplier", Type::kNumber, Apis::kBoth, is_zero},
    Rule{"top_n_sigma", Type::kNumber, Apis::kBoth, is_not_positive},
    Rule{"return_token_ids", Type::kBool, Apis::kBoth, is_false},
    Rule{"return_tokens_as_token_ids", Type::kBool, Apis::kBoth, is_false},
    Rule{"suffix", Type::kString, Apis::kCompletion, is_empty_text},
    Rule{"echo", Type::kBool, Apis::kChat, is_false},
    Rule{"truncate_prompt_tokens", Type::kInteger, Apis::kBoth, never},
    Rule{"skip_special_tokens", Type::kBool, Apis::kBoth, is_true},
    Rule{"add_special_tokens", Type::kBool, Apis::kChat, is_false},
    Rule{"grammar_lazy", Type::kBool, Apis::kBoth, is_false},
    Rule{"guided_whitespace_pattern", Type::kString, Apis::kBoth, never},
    Rule{"functions", Type::kArray, Apis::kChat, is_empty},
    Rule{"function_call", Type::kStringOrObject, Apis::kChat, is_none_word},
    Rule{"audio", Type::kObject, Apis::kChat, never},
    Rule{"modalities", Type::kArray, Apis::kChat, is_text_modality},
    Rule{"prediction", Type::kObject, Apis::kChat, never},
    Rule{"web_search_options", Type::kObject, Apis::kChat, never},
    Rule{"documents", Type::kArray, Apis::kChat, is_empty},
    Rule{"chat_template", Type::kString, Apis::kChat, never},
    Rule{"continue_final_message", Type::kBool, Apis::kChat, is_false},
    Rule{"verbosity", Type::kString, Apis::kChat, is_medium_word},
    Rule{"user", Type::kString, Apis::kBoth, always},
    Rule{"metadata", Type::kObject, Apis::kBoth, always},
    Rule{"store", Type::kBool, Apis::kBoth, always},
    Rule{"safety_identifier", Type::kString, Apis::kBoth, always},
    Rule{"prompt_cache_key", Type::kString, Apis::kBoth, always},
};

std::string_view refusal_of(std::string_view name) {
  if (name == "functions") return "not supported; use tools";
  if (name == "function_call") return "not supported; use tool_choice";
  if (name == "return_token_ids") return "not supported; use kantha.return_token_ids";
  return "not supported yet";
}

}  // namespace

Status check_supported(const JsonFields& fields, ApiKind kind) {
  for (const Rule& rule : kRules) {
    if (rule.apis == Apis::kChat && kind != ApiKind::kChat) continue;
    if (rule.apis == Apis::kCompletion && kind != ApiKind::kCompletion) continue;
    const Json* value = fields.find(rule.name);
    if (value == nullptr) continue;
    const std::string path = fields.path_of(rule.name);
    if (!is_type(*value, rule.type)) return wrong_type(path, type_words(rule.type), *value);
    if (rule.harmless(*value)) continue;
    Error error = unimplemented(path + ": " + std::string(refusal_of(rule.name)), path);
    error.reason = kReasonUnsupported;
    return error;
  }
  return ok_status();
}

}  // namespace kantha::api
