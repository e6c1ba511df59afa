#include "engine/grammar/object_writer.h"

#include <algorithm>
#include <optional>

#include "engine/grammar/encoding.h"
#include "engine/grammar/regex_parser.h"

namespace kantha::grammar {
namespace {

/// Overlapping patterns are told apart by all their combinations.
constexpr std::size_t kPatternsMax = 5;

}  // namespace

Status ObjectWriter::write(Nfa& nfa) {
  TRY_OK(collect_entries());
  TRY_OK(collect_extras());
  TRY_OK(check_counts());
  const RuleId space = compiler_.json_.space();
  const StateId close = nfa.add_state();
  nfa.add_bytes(close, '}', '}', Nfa::kAccept);
  // By the number of keys so far: the state before the next entry.
  std::vector<StateId> states(counts() + 1);
  for (StateId& state : states) state = nfa.add_state();
  nfa.add_bytes(Nfa::kStart, '{', '{', states[0]);
  for (const Entry& entry : entries_) {
    std::vector<StateId> next(states.size());
    for (StateId& state : next) state = nfa.add_state();
    std::vector<StateId> keys(states.size());
    const std::string name = '"' + encode(entry.key, Encoding::kJson) + '"';
    for (std::size_t count = 1; count < states.size(); ++count) {
      keys[count] = nfa.add_state();
      const StateId after_key = nfa.add_state();
      nfa.add_text(keys[count], name, after_key);
      add_member(nfa, after_key, entry.schemas, next[count]);
    }
    for (std::size_t count = 0; count < states.size(); ++count) {
      if (!entry.required) nfa.add_empty(states[count], next[count]);
      if (may_add(count)) add_comma(nfa, states[count], count, keys[next_count(count)]);
    }
    states = std::move(next);
    TRY_OK(compiler_.budget_.work(states.size() * (name.size() + 8)));
    TRY_OK(compiler_.budget_.check_states(nfa.size() / 4));
  }
  for (std::size_t count = 0; count < states.size(); ++count) {
    if (count >= shape_.properties_min) nfa.add_call(states[count], space, close);
    if (extras_.empty() || !may_add(count)) continue;
    const StateId key = nfa.add_state();
    add_comma(nfa, states[count], count, key);
    for (const Extra& extra : extras_) {
      const StateId open = nfa.add_state();
      const StateId end = nfa.add_state();
      const StateId after_key = nfa.add_state();
      nfa.add_bytes(key, '"', '"', open);
      embed(extra.keys, nfa, open, end);
      nfa.add_bytes(end, '"', '"', after_key);
      add_member(nfa, after_key, extra.schemas, states[next_count(count)]);
    }
  }
  return ok_status();
}

void ObjectWriter::add_comma(Nfa& nfa, StateId from, std::size_t count, StateId key) {
  if (count > 0) {
    const StateId comma = nfa.add_state();
    nfa.add_bytes(from, ',', ',', comma);
    from = comma;
  }
  nfa.add_call(from, compiler_.json_.space(), key);
}

void ObjectWriter::add_member(Nfa& nfa, StateId after_key, const Schemas& schemas, StateId to) {
  const StateId colon = nfa.add_state();
  const StateId value = nfa.add_state();
  nfa.add_bytes(after_key, ':', ':', colon);
  nfa.add_call(colon, compiler_.json_.space(), value);
  nfa.add_call(value, compiler_.rule_for(schemas), to);
}

std::size_t ObjectWriter::counts() const {
  return std::max<std::size_t>({1, shape_.properties_min, shape_.properties_max.value_or(0)});
}

std::size_t ObjectWriter::next_count(std::size_t count) const {
  return std::min(count + 1, counts());
}

Status ObjectWriter::collect_entries() {
  const auto is_required = [&](const std::string& key) {
    return std::ranges::find(shape_.required, key) != shape_.required.end();
  };
  for (const ObjectPart& part : shape_.objects) {
    for (const auto& [key, schema] : part.properties) TRY_OK(add_entry(key, is_required(key)));
  }
  for (const std::string& key : shape_.required) TRY_OK(add_entry(key, true));
  return ok_status();
}

Status ObjectWriter::add_entry(const std::string& key, bool required) {
  if (std::ranges::find(entries_, key, &Entry::key) != entries_.end()) return ok_status();
  TRY_OK(compiler_.budget_.work(entries_.size() + 1));
  TRY(const auto schemas, compiler_.member_schemas(shape_, key));
  Entry entry{.key = key, .required = required};
  // A key that is forbidden and required leaves nothing: so does the schema `false`.
  entry.schemas = schemas.value_or(Schemas{compiler_.document_.nothing()});
  if (schemas || required) entries_.push_back(std::move(entry));
  return ok_status();
}

/// Keys that nobody named come only where a schema asks for them.
bool ObjectWriter::is_open() const {
  bool asked = false;
  bool named = false;
  for (const ObjectPart& part : shape_.objects) {
    asked = asked || part.additional != nullptr;
    named = named || !part.properties.empty() || !part.patterns.empty();
  }
  return asked || !named;
}

Status ObjectWriter::collect_extras() {
  std::vector<std::pair<std::string, Schema>> patterns;
  for (const ObjectPart& part : shape_.objects) {
    for (const auto& pattern : part.patterns) patterns.push_back(pattern);
  }
  if (patterns.empty() && !is_open()) return ok_status();
  if (patterns.size() > kPatternsMax) {
    return compiler_.document_.error(
        patterns.front().second,
        "patternProperties is supported for up to " + std::to_string(kPatternsMax) + " patterns");
  }
  TRY(const Dfa free, free_keys());
  for (unsigned matched = 0; matched < 1U << patterns.size(); ++matched) {
    if (matched == 0 && !is_open()) continue;
    TRY_OK(add_extra(patterns, matched, free));
  }
  return ok_status();
}

/// Texts of all keys that are not named.
Result<Dfa> ObjectWriter::free_keys() {
  Dfa keys;
  if (shape_.property_names.empty()) {
    TRY(keys, compiler_.length_language(0, std::nullopt));
  } else {
    TRY(keys, compiler_.string_language(together(shape_.property_names)));
  }
  Nfa named;
  for (const ObjectPart& part : shape_.objects) {
    for (const auto& [key, schema] : part.properties) {
      named.add_text(Nfa::kStart, encode(key, Encoding::kJson), Nfa::kAccept);
    }
  }
  for (const std::string& key : shape_.required) {
    named.add_text(Nfa::kStart, encode(key, Encoding::kJson), Nfa::kAccept);
  }
  TRY(const Dfa dfa, determinize(named, compiler_.budget_));
  return difference(keys, dfa, compiler_.budget_);
}

/// Keys that match exactly those patterns whose bits are set.
Status ObjectWriter::add_extra(const std::vector<std::pair<std::string, Schema>>& patterns,
                               unsigned matched, const Dfa& free_keys) {
  Extra extra{.keys = free_keys};
  Budget& budget = compiler_.budget_;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::string& path = compiler_.document_.path_of(patterns[i].second);
    TRY(const Dfa dfa,
        compile_regex(patterns[i].first, RegexMatch::kAnywhere, Encoding::kJson, path, budget));
    const bool matches = (matched >> i & 1) != 0;
    TRY(extra.keys, matches ? both(extra.keys, dfa, budget) : difference(extra.keys, dfa, budget));
  }
  if (extra.keys.accepts_nothing()) return ok_status();
  std::size_t at = 0;
  for (const ObjectPart& part : shape_.objects) {
    bool known = false;
    for (const auto& [pattern, schema] : part.patterns) {
      const bool here = (matched >> at++ & 1) != 0;
      if (here) extra.schemas.push_back(schema);
      known = known || here;
    }
    if (!known && part.additional != nullptr) extra.schemas.push_back(part.additional);
  }
  const auto is_false = [](Schema schema) { return schema->is_boolean() && !schema->get<bool>(); };
  if (std::ranges::any_of(extra.schemas, is_false)) return ok_status();
  extras_.push_back(std::move(extra));
  return ok_status();
}

Status ObjectWriter::check_counts() const {
  const auto named = [](const Entry& entry) { return entry.required; };
  const auto required = static_cast<std::size_t>(std::ranges::count_if(entries_, named));
  Budget& budget = compiler_.budget_;
  const std::string& place = budget.place();
  TRY_OK(budget.check_repeats(counts(), place, "minProperties and maxProperties"));
  // A key may come twice, and then is one.
  if (extras_.empty() || shape_.properties_min <= std::max<std::size_t>(required, 1)) {
    return ok_status();
  }
  return invalid_argument(place + ": minProperties is supported where all keys are named", place);
}

}  // namespace kantha::grammar
