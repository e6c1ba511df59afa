#include <algorithm>
#include <array>

#include "engine/text/template_access.h"
#include "engine/text/template_eval.h"
#include "engine/text/template_operators.h"
#include "engine/text/text_operations.h"
#include "engine/text/unicode_class.h"
#include "engine/text/utf8.h"

namespace kantha::text {
namespace {

using Arguments = BoundArguments;

struct MethodEntry {
  using Run = Result<Value> (*)(Evaluator&, const Value&, const Arguments&);

  std::string_view name;
  std::array<std::string_view, 2> parameters;
  Run run;
};

Result<const MarkedText*> text_argument(const Arguments& arguments, std::size_t i) {
  if (!arguments.has(i)) return invalid_argument("expected a text as argument");
  const MarkedText* text = arguments[i].as_text();
  if (text == nullptr) return unusable(arguments[i], "used as a text");
  return text;
}

Value text_list(std::vector<MarkedText> parts) {
  std::vector<Value> items;
  for (MarkedText& part : parts) items.push_back(Value::text(std::move(part)));
  return Value::list(std::move(items));
}

template <TrimEnds kEnds>
Result<Value> strip(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  if (!arguments.has(0) || arguments[0].is_none()) {
    return Value::text(trimmed(*self.as_text(), kEnds));
  }
  TRY(const MarkedText* const characters, text_argument(arguments, 0));
  TRY_OK(evaluator.spend(characters->size() * (1 + self.as_text()->size() / 256)));
  return Value::text(trimmed(*self.as_text(), kEnds, characters->bytes()));
}

/// Charges for the parts of a split before they are made.
Status spend_parts(Evaluator& evaluator, std::string_view text, std::string_view separator) {
  std::size_t parts = 0;
  for (std::size_t at = find_text(text, separator); at != std::string_view::npos;
       at = find_text(text, separator, at + separator.size())) {
    ++parts;
  }
  return evaluator.spend(parts);
}

/// The same where lines or white space end the parts: no part without one of these bytes.
Status spend_blank_parts(Evaluator& evaluator, std::string_view text) {
  return evaluator.spend(
      static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) <= 0x20 || c == '\xC2' || c == '\xE2' || c == '\xE3';
      })));
}

template <bool kFromRight>
Result<Value> split(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  TRY(const std::int64_t count, arguments.integer(1, -1));
  std::vector<MarkedText> parts;
  if (!arguments.has(0) || arguments[0].is_none()) {
    if (kFromRight && count >= 0) return unimplemented("str.rsplit without a separator");
    TRY_OK(spend_blank_parts(evaluator, self.as_text()->bytes()));
    parts = split_at_blanks(*self.as_text(), count);
  } else {
    TRY(const MarkedText* const separator, text_argument(arguments, 0));
    if (separator->empty()) return invalid_argument("empty separator");
    TRY_OK(spend_parts(evaluator, self.as_text()->bytes(), separator->bytes()));
    parts = kFromRight ? split_at_right(*self.as_text(), separator->bytes(), count)
                       : split_at(*self.as_text(), separator->bytes(), count);
  }
  return text_list(std::move(parts));
}

Result<bool> matches_end(const Value& self, const Value& wanted, bool at_start) {
  const MarkedText* text = wanted.as_text();
  if (text == nullptr) return unusable(wanted, "compared with the end of a text");
  const std::string& bytes = self.as_text()->bytes();
  return at_start ? bytes.starts_with(text->bytes()) : bytes.ends_with(text->bytes());
}

template <bool kAtStart>
Result<Value> has_end(Evaluator&, const Value& self, const Arguments& arguments) {
  if (!arguments.has(0)) return invalid_argument("expected a text as argument");
  const List* list = arguments[0].as_list();
  if (list == nullptr) {
    TRY(const bool matches, matches_end(self, arguments[0], kAtStart));
    return Value::boolean(matches);
  }
  for (const Value& item : list->items) {
    TRY(const bool matches, matches_end(self, item, kAtStart));
    if (matches) return Value::boolean(true);
  }
  return Value::boolean(false);
}

template <bool kAtStart>
Result<Value> remove_end(Evaluator&, const Value& self, const Arguments& arguments) {
  TRY(const MarkedText* const end, text_argument(arguments, 0));
  TRY(const bool matches, matches_end(self, arguments[0], kAtStart));
  const MarkedText& text = *self.as_text();
  if (!matches) return self;
  const std::size_t rest = text.size() - end->size();
  return Value::text(kAtStart ? text.slice(end->size()) : text.slice(0, rest));
}

Result<Value> replace(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  // str.replace has three parameters; the third is read from the call itself.
  const auto& all = arguments.all->positional;
  if (all.size() < 2 || all[0].as_text() == nullptr || all[1].as_text() == nullptr) {
    return invalid_argument("str.replace: expected two texts");
  }
  const std::int64_t count = all.size() > 2 ? all[2].as_integer().value_or(-1) : -1;
  TRY(MarkedText text, replaced(*self.as_text(), all[0].as_text()->bytes(), *all[1].as_text(),
                                count, evaluator.limits().output_bytes_max));
  TRY_OK(evaluator.spend_bytes(text.size()));
  return Value::text(std::move(text));
}

Result<Value> join(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  if (!arguments.has(0)) return invalid_argument("str.join: expected texts");
  TRY(const std::vector<Value> items, evaluator.items_of(arguments[0]));
  MarkedText out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const MarkedText* text = items[i].as_text();
    if (text == nullptr) return unusable(items[i], "joined to a text");
    TRY_OK(evaluator.spend_bytes(256 + text->size() + self.as_text()->size()));
    if (i > 0) out.append(*self.as_text());
    out.append(*text);
  }
  return Value::text(std::move(out));
}

Result<Value> find(Evaluator&, const Value& self, const Arguments& arguments) {
  TRY(const MarkedText* const wanted, text_argument(arguments, 0));
  const std::string& bytes = self.as_text()->bytes();
  const std::size_t at = find_text(bytes, wanted->bytes());
  if (at == std::string_view::npos) return Value::integer(-1);
  const std::size_t before = count_code_points(std::string_view(bytes).substr(0, at));
  return Value::integer(static_cast<std::int64_t>(before));
}

Result<Value> count(Evaluator&, const Value& self, const Arguments& arguments) {
  TRY(const MarkedText* const wanted, text_argument(arguments, 0));
  const std::string& bytes = self.as_text()->bytes();
  if (wanted->empty()) {
    return Value::integer(static_cast<std::int64_t>(count_code_points(bytes)) + 1);
  }
  std::int64_t found = 0;
  for (std::size_t at = find_text(bytes, wanted->bytes()); at != std::string_view::npos;
       at = find_text(bytes, wanted->bytes(), at + wanted->size())) {
    ++found;
  }
  return Value::integer(found);
}

template <CodeClass kWanted>
Result<Value> all_of_class(Evaluator&, const Value& self, const Arguments&) {
  const std::string& bytes = self.as_text()->bytes();
  for (std::size_t at = 0; at < bytes.size();) {
    const CodePoint point = read_code_point(bytes, at);
    if (code_class(point.code) != kWanted) return Value::boolean(false);
    at += point.length;
  }
  return Value::boolean(!bytes.empty());
}

Result<Value> lines(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  TRY_OK(spend_blank_parts(evaluator, self.as_text()->bytes()));
  return text_list(split_lines(*self.as_text(), arguments.flag(0, false)));
}

template <LetterCase kWanted>
Result<Value> change_case(Evaluator&, const Value& self, const Arguments&) {
  return Value::text(in_case(*self.as_text(), kWanted));
}

Result<Value> title(Evaluator&, const Value& self, const Arguments&) {
  return Value::text(titled(*self.as_text()));
}

Result<Value> capitalize(Evaluator&, const Value& self, const Arguments&) {
  return Value::text(capitalized(*self.as_text()));
}

enum class DictPart { kKeys, kValues, kItems };

template <DictPart kPart>
Result<Value> dict_part(Evaluator& evaluator, const Value& self, const Arguments&) {
  std::vector<Value> out;
  TRY_OK(evaluator.spend(self.as_dict()->entries.size() / 4));
  for (const auto& [key, value] : self.as_dict()->entries) {
    if (kPart == DictPart::kKeys) out.push_back(key);
    if (kPart == DictPart::kValues) out.push_back(value);
    if (kPart == DictPart::kItems) out.push_back(Value::list({key, value}, /*is_tuple=*/true));
  }
  return Value::list(std::move(out));
}

Result<Value> dict_get(Evaluator&, const Value& self, const Arguments& arguments) {
  if (!arguments.has(0)) return invalid_argument("dict.get: expected a key");
  if (const Value* found = self.as_dict()->find(arguments[0])) return *found;
  return arguments.has(1) ? arguments[1] : Value();
}

Result<Value> list_count(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  if (!arguments.has(0)) return invalid_argument("list.count: expected a value");
  const auto& items = self.as_list()->items;
  TRY_OK(evaluator.spend(self.weight() / 16));
  return Value::integer(std::count_if(
      items.begin(), items.end(), [&](const Value& item) { return item.equals(arguments[0]); }));
}

constexpr std::array kTextEntries = {
    MethodEntry{"capitalize", {}, capitalize},
    MethodEntry{"count", {"sub"}, count},
    MethodEntry{"endswith", {"suffix"}, has_end<false>},
    MethodEntry{"find", {"sub"}, find},
    MethodEntry{"isalpha", {}, all_of_class<CodeClass::kLetter>},
    MethodEntry{"isdigit", {}, all_of_class<CodeClass::kNumber>},
    MethodEntry{"isspace", {}, all_of_class<CodeClass::kSpace>},
    MethodEntry{"join", {"iterable"}, join},
    MethodEntry{"lower", {}, change_case<LetterCase::kLower>},
    MethodEntry{"lstrip", {"chars"}, strip<TrimEnds::kLeft>},
    MethodEntry{"removeprefix", {"prefix"}, remove_end<true>},
    MethodEntry{"removesuffix", {"suffix"}, remove_end<false>},
    MethodEntry{"rsplit", {"sep", "maxsplit"}, split<true>},
    MethodEntry{"rstrip", {"chars"}, strip<TrimEnds::kRight>},
    MethodEntry{"split", {"sep", "maxsplit"}, split<false>},
    MethodEntry{"splitlines", {"keepends"}, lines},
    MethodEntry{"startswith", {"prefix"}, has_end<true>},
    MethodEntry{"strip", {"chars"}, strip<TrimEnds::kBoth>},
    MethodEntry{"title", {}, title},
    MethodEntry{"upper", {}, change_case<LetterCase::kUpper>},
};
constexpr std::array kDictEntries = {
    MethodEntry{"get", {"key", "default"}, dict_get},
    MethodEntry{"items", {}, dict_part<DictPart::kItems>},
    MethodEntry{"keys", {}, dict_part<DictPart::kKeys>},
    MethodEntry{"values", {}, dict_part<DictPart::kValues>},
};
constexpr std::array kListEntries = {MethodEntry{"count", {"value"}, list_count}};

std::span<const MethodEntry> entries_of(const Value& self) {
  if (self.as_text() != nullptr) return kTextEntries;
  if (self.as_dict() != nullptr) return kDictEntries;
  return kListEntries;
}

}  // namespace

Result<Value> call_method(Evaluator& evaluator, const Method& method,
                          const CallArguments& arguments) {
  const std::string what = std::string(method.self.type_name()) + "." + method.name;
  if (what == "str.replace") {
    BoundArguments unbound;
    unbound.all = &arguments;
    return replace(evaluator, method.self, unbound);
  }
  if (what == "str.format") return format_text(evaluator, *method.self.as_text(), arguments);
  for (const MethodEntry& entry : entries_of(method.self)) {
    if (entry.name != method.name) continue;
    const auto count = std::count_if(entry.parameters.begin(), entry.parameters.end(),
                                     [](std::string_view name) { return !name.empty(); });
    const std::span parameters(entry.parameters);
    TRY(const BoundArguments bound,
        bind_arguments(what, parameters.first(static_cast<std::size_t>(count)), arguments));
    return entry.run(evaluator, method.self, bound);
  }
  return unimplemented("method " + what + " is not known");
}

}  // namespace kantha::text
