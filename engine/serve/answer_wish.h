#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/api/chat_request.h"
#include "engine/grammar/grammar.h"
#include "engine/serve/answer_text.h"
#include "engine/serve/served_model.h"

/// What a chat's answer must look like, besides what its text asks for: calls that must come, calls
/// of functions that are strict, and reasoning before any of it. Pure; any thread.
namespace kantha::serve {

struct AnswerWish {
  /// Null: any text will do.
  std::shared_ptr<const grammar::Wish> wish = {};
  /// What to take where `wish` cannot be held because of a schema that nobody declared strict: the
  /// arguments of such functions are then some JSON object. Null: the request is refused.
  std::shared_ptr<const grammar::Wish> looser = {};
  bool is_calls = false;  ///< it is about calls, and not the client's own
};

/// The function that must be called: "" is any of them. Absent: none must be.
std::optional<std::string> forced_name(const api::ToolFields& tools);

/// May the model reason before an answer that has a shape, with this form?
bool may_reason(const ServedModel& model, const api::ChatRequest& request, const AnswerForm& form);

/// `form` is the one that the answer is read by.
AnswerWish answer_wish(const ServedModel& model, const api::ChatRequest& request,
                       const AnswerForm& form);

/// The answer begins inside of reasoning.
bool begins_inside(const AnswerForm& form);

/// Do the tokens that may be put in follow the grammar?
bool follows(const std::shared_ptr<const grammar::Grammar>& grammar, const AnswerForm& form);

}  // namespace kantha::serve
