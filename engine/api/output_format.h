#pragma once

#include <memory>
#include <string_view>

#include "base/json_fields.h"
#include "base/result.h"
#include "engine/grammar/wish.h"

/// What a request asks of its answer's shape. Pure; any thread.
namespace kantha::api {

/// Reads the one wish that a body may have; null: any text will do. Understood are OpenAI's
/// `response_format` (text, json_object, json_schema; llama-server's json_object with `schema`),
/// vLLM's `structured_outputs` (json, json_object, regex, choice, grammar, disable_any_whitespace)
/// and `guided_json`, `guided_regex`, `guided_choice`, `guided_grammar`, and llama-server's
/// `json_schema` and `grammar`. kInvalidArgument with the field's path, also when there are two
/// wishes.
Result<std::shared_ptr<const grammar::Wish>> read_output_format(const JsonFields& fields);

/// Puts the keys of a wish's schemas in the order in which the request's body has them (`Json`
/// sorts them), since an answer's keys come in that order: each schema is looked for in the text,
/// wherever it stands there.
std::shared_ptr<const grammar::Wish> in_key_order(std::shared_ptr<const grammar::Wish> wish,
                                                  std::string_view body);

}  // namespace kantha::api
