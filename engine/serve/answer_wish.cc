#include "engine/serve/answer_wish.h"

#include <algorithm>
#include <utility>

#include "engine/dialect/call_wish.h"

namespace kantha::serve {
namespace {

/// Is that mark a control token of the model's?
std::function<bool(const std::string&)> control_marks(const ServedModel& model) {
  return [&model](const std::string& mark) {
    return std::ranges::any_of(model.dialect.marks,
                               [&](const auto& known) { return known.second == mark; });
  };
}

std::shared_ptr<const grammar::Wish> shared(grammar::Wish wish) {
  return std::make_shared<const grammar::Wish>(std::move(wish));
}

AnswerWish shaped(const ServedModel& model, const api::ChatRequest& request,
                  const AnswerForm& form) {
  if (!form.parser) return {.wish = request.fields.output};
  const auto place =
      begins_inside(form) ? dialect::ReasoningPlace::kInside : dialect::ReasoningPlace::kMayOpen;
  return {.wish = shared(dialect::after_reasoning(form.parser->reasoning, place,
                                                  control_marks(model), *request.fields.output))};
}

}  // namespace

std::optional<std::string> forced_name(const api::ToolFields& tools) {
  if (tools.choice == api::ToolChoice::kNamed) return tools.named;
  if (tools.choice != api::ToolChoice::kRequired) return std::nullopt;
  return tools.offered->size() == 1 ? tools.offered->front().name : std::string();
}

bool begins_inside(const AnswerForm& form) {
  return form.parser && !form.parser->reasoning.empty() &&
         (form.parser->inside_reasoning || form.parser->reasoning.always);
}

bool may_reason(const ServedModel& model, const api::ChatRequest& request, const AnswerForm& form) {
  const dialect::ReasoningSyntax& reasoning = model.dialect.dialect.reasoning;
  if (reasoning.empty() || !form.parser) return false;
  if (begins_inside(form)) return true;
  const auto wanted = request.template_extra.find("enable_thinking");
  const bool refused = wanted != request.template_extra.end() && *wanted == false;
  return !reasoning.open.empty() && !refused;
}

AnswerWish answer_wish(const ServedModel& model, const api::ChatRequest& request,
                       const AnswerForm& form) {
  if (request.fields.output != nullptr) return shaped(model, request, form);
  if (!request.tools.offered) return {};
  const dialect::Tools& offered = *request.tools.offered;
  const bool must_call = forced_name(request.tools).has_value();
  const bool strict = std::ranges::any_of(offered, &dialect::Tool::strict);
  const dialect::ToolSyntax& syntax = model.dialect.dialect.tools;
  if ((!must_call && !strict) || !dialect::has_call_wish(syntax, must_call)) return {};
  dialect::CallRules rules{.syntax = syntax,
                           .tools = offered,
                           .must_call = must_call,
                           .several = request.tools.parallel,
                           .is_control = control_marks(model)};
  if (request.tools.choice == api::ToolChoice::kNamed) {
    rules.tools = {*dialect::find_tool(offered, request.tools.named)};
    rules.several = false;
  }
  if (begins_inside(form)) rules.reasoning_close = form.parser->reasoning.close;
  rules.arguments = must_call ? dialect::ArgumentRule::kSchemas : dialect::ArgumentRule::kStrict;
  AnswerWish answer{.wish = shared(call_wish(rules)), .is_calls = true};
  if (must_call && !std::ranges::all_of(rules.tools, &dialect::Tool::strict)) {
    rules.arguments = dialect::ArgumentRule::kStrict;
    answer.looser = shared(call_wish(rules));
  }
  return answer;
}

bool follows(const std::shared_ptr<const grammar::Grammar>& grammar, const AnswerForm& form) {
  grammar::GrammarState state(grammar);
  const auto accept = [&](const std::vector<TokenId>& tokens) {
    return std::ranges::all_of(tokens, [&](TokenId id) { return state.accept(id); });
  };
  return (!begins_inside(form) || accept(form.reasoning_end)) && accept(form.opening);
}

}  // namespace kantha::serve
