#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "engine/text/template_access.h"
#include "engine/text/template_eval.h"

namespace kantha::text {
namespace {

/// What one replacement field stands for. Only the plain ones: {}, {0} and {name}.
Result<Value> field_value(std::string_view field, const CallArguments& arguments,
                          std::size_t& automatic) {
  if (field.find_first_of("!:.[") != std::string_view::npos) {
    return unimplemented("str.format with the field \"{" + std::string(field.substr(0, 60)) +
                         "}\"");
  }
  std::size_t index = automatic;
  if (field.empty()) {
    ++automatic;
  } else {
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), index);
    if (error != std::errc() || end != field.data() + field.size()) {
      for (const auto& [name, value] : arguments.named) {
        if (name == field) return value;
      }
      return invalid_argument("str.format: there is no \"" + std::string(field.substr(0, 60)) +
                              "\"");
    }
  }
  if (index < arguments.positional.size()) return arguments.positional[index];
  return invalid_argument("str.format: expected more than " +
                          std::to_string(arguments.positional.size()) + " values");
}

}  // namespace

Result<Value> format_text(Evaluator& evaluator, const MarkedText& format,
                          const CallArguments& arguments) {
  const std::string& bytes = format.bytes();
  MarkedText out;
  std::size_t automatic = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t brace = std::min(bytes.find_first_of("{}", at), bytes.size());
    out.append(format, at, brace - at);
    if (brace == bytes.size()) break;
    if (brace + 1 < bytes.size() && bytes[brace + 1] == bytes[brace]) {
      out.append(format, brace, 1);
      at = brace + 2;
      continue;
    }
    const std::size_t close = bytes.find('}', brace);
    if (bytes[brace] == '}' || close == std::string::npos) {
      return invalid_argument("str.format: a single brace, which should be doubled");
    }
    TRY(const Value value, field_value(std::string_view(bytes).substr(brace + 1, close - brace - 1),
                                       arguments, automatic));
    TRY_OK(evaluator.spend(1 + value.weight()));
    TRY(const MarkedText text, to_text(value));
    TRY_OK(evaluator.spend_bytes(text.size()));
    if (out.size() + text.size() > evaluator.limits().output_bytes_max) {
      return Error{Code::kOutOfRange, "str.format: the text is too long"};
    }
    out.append(text);
    at = close + 1;
  }
  return Value::text(std::move(out));
}

}  // namespace kantha::text
