#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/grammar/schema_compiler.h"

namespace kantha::grammar {

/// Writes the objects of one shape: named keys in their order, each at most once, then others
/// where the schema asks for them. One use.
class ObjectWriter {
 public:
  ObjectWriter(SchemaCompiler& compiler, const Shape& shape) : compiler_(compiler), shape_(shape) {}

  Status write(Nfa& nfa);

 private:
  struct Entry {
    std::string key;
    Schemas schemas = {};
    bool required = false;
  };
  /// Keys that are not named: their texts, escaped, and what holds for their values.
  struct Extra {
    Dfa keys = {};
    Schemas schemas = {};
  };

  Status collect_entries();
  Status add_entry(const std::string& key, bool required);
  Status collect_extras();
  Status add_extra(const std::vector<std::pair<std::string, Schema>>& patterns, unsigned matched,
                   const Dfa& free_keys);
  Result<Dfa> free_keys();
  bool is_open() const;
  Status check_counts() const;
  /// How many keys have come, as far as it matters.
  std::size_t counts() const;
  std::size_t next_count(std::size_t count) const;
  bool may_add(std::size_t count) const {
    return !shape_.properties_max || count < *shape_.properties_max;
  }
  /// From the state after `count` keys to where the next key begins.
  void add_comma(Nfa& nfa, StateId from, std::size_t count, StateId key);
  void add_member(Nfa& nfa, StateId after_key, const Schemas& schemas, StateId to);

  SchemaCompiler& compiler_;
  const Shape& shape_;
  std::vector<Entry> entries_;
  std::vector<Extra> extras_;
};

}  // namespace kantha::grammar
