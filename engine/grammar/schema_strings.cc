#include <algorithm>
#include <utility>

#include "engine/grammar/encoding.h"
#include "engine/grammar/regex_parser.h"
#include "engine/grammar/schema_compiler.h"
#include "engine/grammar/string_formats.h"

/// Strings with lengths, patterns and formats.
namespace kantha::grammar {
namespace {

/// Characters of strings whose length is bounded: all but the rare control characters, whose
/// six-letter escapes would make each place in the text costly.
const text::CodeSet& counted_codes() {
  static const text::CodeSet codes =
      text::CodeSet::all_codes().without({{0, 7}, {11, 11}, {14, 31}});
  return codes;
}

}  // namespace

Status SchemaCompiler::add_string(Nfa& nfa, const Shape& shape) {
  const bool bounded = shape.length_min > 0 || shape.length_max;
  if (!bounded && shape.patterns.empty() && shape.formats.empty()) {
    nfa.add_call(Nfa::kStart, json_.string(), Nfa::kAccept);
    return ok_status();
  }
  TRY(const Dfa language, string_language(shape));
  const StateId open = nfa.add_state();
  const StateId close = nfa.add_state();
  nfa.add_bytes(Nfa::kStart, '"', '"', open);
  embed(language, nfa, open, close);
  nfa.add_bytes(close, '"', '"', Nfa::kAccept);
  return ok_status();
}

/// The automaton of one character, one after the other.
Result<Dfa> SchemaCompiler::length_language(std::size_t min, std::optional<std::size_t> max) {
  Nfa one;
  add_codes(one, Nfa::kStart, counted_codes(), Nfa::kAccept, Encoding::kJson);
  TRY(const Dfa character, determinize(one, budget_));
  Nfa nfa;
  StateId at = Nfa::kStart;
  const std::size_t count = max.value_or(min);
  for (std::size_t i = 0; i < count; ++i) {
    if (i >= min) nfa.add_empty(at, Nfa::kAccept);
    const StateId next = nfa.add_state();
    embed(character, nfa, at, next);
    at = next;
    TRY_OK(budget_.work(character.states.size()));
  }
  nfa.add_empty(at, Nfa::kAccept);
  if (!max) embed(character, nfa, at, at);
  return determinize(nfa, budget_);
}

Result<Dfa> SchemaCompiler::string_language(const Shape& shape) {
  std::vector<Dfa> languages;
  for (const Schema pattern : shape.patterns) {
    const std::string& path = document_.path_of(pattern);
    TRY(Dfa dfa, compile_regex(pattern->get_ref<const std::string&>(), RegexMatch::kAnywhere,
                               Encoding::kJson, path, budget_));
    languages.push_back(std::move(dfa));
  }
  for (const Schema format : shape.formats) {
    const std::string& path = document_.path_of(format);
    const auto regex = format_regex(format->get_ref<const std::string&>());
    TRY(Dfa dfa, compile_regex(*regex, RegexMatch::kWhole, Encoding::kJson, path, budget_));
    languages.push_back(std::move(dfa));
  }
  if (shape.length_min > 0 || shape.length_max || languages.empty()) {
    const std::size_t longest = std::max(shape.length_min, shape.length_max.value_or(0));
    if (longest > kLengthMax) {
      return invalid_argument(budget_.place() + ": minLength and maxLength: expected at most " +
                                  std::to_string(kLengthMax) + " characters, got " +
                                  std::to_string(longest),
                              budget_.place());
    }
    if (shape.length_max && *shape.length_max < shape.length_min) return Dfa{};
    TRY(Dfa dfa, length_language(shape.length_min, shape.length_max));
    languages.push_back(std::move(dfa));
  }
  Dfa language = std::move(languages.front());
  for (std::size_t i = 1; i < languages.size(); ++i) {
    TRY(language, both(language, languages[i], budget_));
  }
  return language;
}

Result<Dfa> SchemaCompiler::string_language(const Schemas& schemas) {
  TRY(const std::vector<Shape> shapes, expand(schemas, document_, budget_, *this));
  Nfa nfa;
  for (const Shape& shape : shapes) {
    if (shape.values) {
      for (const OrderedJson& value : *shape.values) {
        if (!value.is_string()) continue;
        bool valid = true;
        for (const Schema schema : schemas) {
          TRY(const bool here, validator_.is_valid(value, schema));
          valid = valid && here;
        }
        const std::string& text = value.get_ref<const std::string&>();
        if (valid) nfa.add_text(Nfa::kStart, encode(text, Encoding::kJson), Nfa::kAccept);
      }
    } else if ((shape.types & kStringType) != 0) {
      for (const Refusal& refusal : shape.refusals) {
        if ((refusal.types & kStringType) == 0) continue;
        return document_.error(refusal.place, refusal.what);
      }
      TRY(const Dfa language, string_language(shape));
      embed(language, nfa, Nfa::kStart, Nfa::kAccept);
    }
  }
  return determinize(nfa, budget_);
}

}  // namespace kantha::grammar
