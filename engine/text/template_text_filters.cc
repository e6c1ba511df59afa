#include <algorithm>
#include <array>

#include "engine/text/template_eval.h"
#include "engine/text/template_filters.h"
#include "engine/text/template_json.h"
#include "engine/text/text_operations.h"

namespace kantha::text {
namespace {

using Arguments = BoundArguments;

Result<Value> trim(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  TRY(const MarkedText text, to_text(value));
  if (!arguments.has(0) || arguments[0].is_none()) {
    return Value::text(trimmed(text, TrimEnds::kBoth));
  }
  TRY(const MarkedText characters, to_text(arguments[0]));
  TRY_OK(evaluator.spend(characters.size() * (1 + text.size() / 256)));
  return Value::text(trimmed(text, TrimEnds::kBoth, characters.bytes()));
}

template <LetterCase kWanted>
Result<Value> change_case(Evaluator&, const Value& value, const Arguments&) {
  TRY(const MarkedText text, to_text(value));
  return Value::text(in_case(text, kWanted));
}

/// Jinja's own title(): only blanks and - ( { [ < begin a word.
Result<Value> title(Evaluator&, const Value& value, const Arguments&) {
  TRY(const MarkedText text, to_text(value));
  MarkedText out;
  const std::string& bytes = text.bytes();
  constexpr std::string_view kBreaks = "-({[< \t\n\r\v\f";
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t end = bytes.find_first_of(kBreaks, at);
    if (end == at) end = bytes.find_first_not_of(kBreaks, at);
    if (end == std::string::npos) end = bytes.size();
    out.append(capitalized(text.slice(at, end - at)));
    at = end;
  }
  return Value::text(std::move(out));
}

Result<Value> capitalize(Evaluator&, const Value& value, const Arguments&) {
  TRY(const MarkedText text, to_text(value));
  return Value::text(capitalized(text));
}

Result<Value> replace(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  if (!arguments.has(0) || !arguments.has(1)) {
    return invalid_argument("filter \"replace\": expected two texts");
  }
  TRY(const MarkedText text, to_text(value));
  TRY(const MarkedText old, to_text(arguments[0]));
  TRY(const MarkedText by, to_text(arguments[1]));
  std::int64_t count = -1;
  if (arguments.has(2) && !arguments[2].is_none()) {
    TRY(count, arguments.integer(2, -1));
  }
  TRY(MarkedText out, replaced(text, old.bytes(), by, count, evaluator.limits().output_bytes_max));
  TRY_OK(evaluator.spend_bytes(out.size()));
  return Value::text(std::move(out));
}

Result<Value> string(Evaluator&, const Value& value, const Arguments&) {
  TRY(MarkedText text, to_text(value));
  return Value::text(std::move(text));
}

Result<Value> escape(Evaluator& evaluator, const Value& value, const Arguments&) {
  TRY(MarkedText text, to_text(value));
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kEscapes = {
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"'", "&#39;"}, {"\"", "&#34;"}}};
  for (const auto& [sign, entity] : kEscapes) {
    TRY(text,
        replaced(text, sign, MarkedText(entity, false), -1, evaluator.limits().output_bytes_max));
  }
  return Value::text(std::move(text));
}

Result<Value> indent(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  TRY(MarkedText text, to_text(value));
  MarkedText margin("    ", false);
  if (arguments.has(0) && arguments[0].as_text() != nullptr) {
    margin = *arguments[0].as_text();
  } else {
    TRY(const std::int64_t width, arguments.integer(0, 4));
    if (width < 0 || width > 1000) return invalid_argument("indent: expected a width in [0, 1000]");
    margin = MarkedText(std::string(static_cast<std::size_t>(width), ' '), false);
  }
  text.append("\n", false);
  TRY_OK(evaluator.spend(
      static_cast<std::size_t>(std::count(text.bytes().begin(), text.bytes().end(), '\n'))));
  MarkedText out;
  const std::vector<MarkedText> lines = split_lines(text, /*keep_ends=*/false);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    TRY_OK(evaluator.spend_bytes(256 + margin.size() + lines[i].size()));
    if (i > 0) out.append("\n", false);
    const bool wanted =
        i == 0 ? arguments.flag(1, false) : arguments.flag(2, false) || !lines[i].empty();
    if (wanted) out.append(margin);
    out.append(lines[i]);
  }
  return Value::text(std::move(out));
}

Status read_separators(const Value& separators, JsonStyle& style) {
  const List* pair = separators.as_list();
  const bool texts = pair != nullptr && pair->items.size() == 2 &&
                     pair->items[0].as_text() != nullptr && pair->items[1].as_text() != nullptr;
  if (!texts) return invalid_argument("tojson: expected two texts as separators");
  style.item_separator = pair->items[0].as_text()->bytes();
  style.key_separator = pair->items[1].as_text()->bytes();
  return ok_status();
}

Result<Value> to_json(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  JsonStyle style;
  style.ascii_only = arguments.flag(0, false);
  if (arguments.has(1) && !arguments[1].is_none()) {
    TRY(const std::int64_t width, arguments.integer(1, 0));
    if (width < 0 || width > 64) return invalid_argument("tojson: expected an indent in [0, 64]");
    style.indent = static_cast<std::size_t>(width);
  }
  if (arguments.has(2) && !arguments[2].is_none()) {
    TRY_OK(read_separators(arguments[2], style));
  }
  style.sorted_keys = arguments.flag(3, false);
  TRY(MarkedText text, value_to_json(value, style, evaluator.limits().output_bytes_max));
  TRY_OK(evaluator.spend_bytes(text.size()));
  return Value::text(std::move(text));
}

Result<Value> join(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  TRY(const std::vector<Value> items, evaluator.items_of(value));
  MarkedText separator;
  if (arguments.has(0)) {
    TRY(separator, to_text(arguments[0]));
  }
  MarkedText out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Value item = items[i];
    if (arguments.has(1) && !arguments[1].is_none()) {
      TRY(item, evaluator.look_inside(item, arguments[1]));
    }
    TRY_OK(evaluator.spend(item.weight()));
    TRY(const MarkedText text, to_text(item));
    TRY_OK(evaluator.spend_bytes(text.size() + separator.size()));
    if (i > 0) out.append(separator);
    out.append(text);
  }
  return Value::text(std::move(out));
}

Result<Value> same(Evaluator&, const Value& value, const Arguments&) { return value; }

constexpr std::array<std::string_view, 1> kTrim = {"chars"};
constexpr std::array<std::string_view, 3> kReplace = {"old", "new", "count"};
constexpr std::array<std::string_view, 3> kIndent = {"width", "first", "blank"};
constexpr std::array<std::string_view, 4> kToJson = {"ensure_ascii", "indent", "separators",
                                                     "sort_keys"};
constexpr std::array<std::string_view, 2> kJoin = {"d", "attribute"};

constexpr std::array kFilters = {
    Filter{"capitalize", {}, FilterCost::kDeep, capitalize},
    Filter{"e", {}, FilterCost::kDeep, escape},
    Filter{"escape", {}, FilterCost::kDeep, escape},
    Filter{"indent", kIndent, FilterCost::kDeep, indent},
    Filter{"join", kJoin, FilterCost::kItems, join},
    Filter{"lower", {}, FilterCost::kDeep, change_case<LetterCase::kLower>},
    Filter{"replace", kReplace, FilterCost::kDeep, replace},
    Filter{"safe", {}, FilterCost::kConstant, same},
    Filter{"string", {}, FilterCost::kDeep, string},
    Filter{"title", {}, FilterCost::kDeep, title},
    Filter{"tojson", kToJson, FilterCost::kDeep, to_json},
    Filter{"trim", kTrim, FilterCost::kDeep, trim},
    Filter{"upper", {}, FilterCost::kDeep, change_case<LetterCase::kUpper>},
};

}  // namespace

std::span<const Filter> text_filters() { return kFilters; }

}  // namespace kantha::text
