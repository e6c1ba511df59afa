#include "engine/grammar/schema_shape.h"

#include <algorithm>
#include <utility>

#include "engine/grammar/schema_keywords.h"

namespace kantha::grammar {
namespace {

/// Ways to be right that one place may have, over all combinations of anyOf and oneOf.
constexpr std::size_t kShapesMax = 512;

/// anyOf or oneOf, put off until everything else is known.
struct Choice {
  Schema list = nullptr;
  bool exclusive = false;           ///< oneOf
  std::vector<Schema> within = {};  ///< schemas that apply it, from the outermost on
};

/// A shape on its way.
struct Draft {
  Shape shape = {};
  std::vector<Choice> choices = {};
  std::vector<Schema> applied = {};
  Schema alternative = nullptr;  ///< of the last choice
};

class Expander {
 public:
  Expander(SchemaDocument& document, Budget& budget, ShapeExclusion& exclusion)
      : document_(document), budget_(budget), exclusion_(exclusion) {}

  Result<std::vector<Shape>> run(const Schemas& schemas) {
    Draft first;
    for (const Schema schema : schemas) TRY_OK(apply(first, schema, {}));
    std::vector<Draft> drafts;
    drafts.push_back(std::move(first));
    std::vector<Shape> shapes;
    while (!drafts.empty()) {
      Draft draft = std::move(drafts.back());
      drafts.pop_back();
      if (draft.shape.types == 0) continue;
      if (draft.choices.empty()) {
        shapes.push_back(std::move(draft.shape));
      } else {
        const Choice choice = take_choice(draft);
        TRY(auto branches, branch(draft, choice));
        // The first one is looked at first: shapes stay in the client's order.
        std::move(branches.rbegin(), branches.rend(), std::back_inserter(drafts));
      }
      if (shapes.size() + drafts.size() > kShapesMax) {
        return document_.error(schemas.front(),
                               "too many combinations of anyOf and oneOf: more "
                               "than " +
                                   std::to_string(kShapesMax));
      }
    }
    return shapes;
  }

 private:
  /// anyOf before oneOf, whose alternatives are the easier to tell apart the more is known.
  static Choice take_choice(Draft& draft) {
    auto at = std::ranges::find(draft.choices, false, &Choice::exclusive);
    if (at == draft.choices.end()) at = draft.choices.begin();
    Choice choice = std::move(*at);
    draft.choices.erase(at);
    return choice;
  }

  Result<std::vector<Draft>> branch(const Draft& draft, const Choice& choice) {
    std::vector<Draft> branches;
    for (std::size_t i = 0; i < choice.list->size(); ++i) {
      Draft copy = draft;
      copy.alternative = document_.element(choice.list, i);
      TRY_OK(apply(copy, copy.alternative, choice.within));
      if (copy.shape.types != 0) branches.push_back(std::move(copy));
    }
    if (!choice.exclusive) return branches;
    for (const Draft& made : branches) {
      for (const Draft& other : branches) {
        if (&made == &other) continue;
        TRY_OK(budget_.work(64));
        TRY(const bool excluded, exclusion_.excludes(made.shape, other.shape, other.alternative));
        if (excluded) continue;
        return document_.error(
            choice.list,
            "oneOf is supported where no answer can be right under two alternatives: " +
                document_.path_of(made.alternative) + " and " +
                document_.path_of(other.alternative) + " may both hold");
      }
    }
    return branches;
  }

  // NOLINTNEXTLINE(misc-no-recursion): `within` has each schema once
  Status apply(Draft& draft, Schema schema, std::vector<Schema> within) {
    TRY_OK(budget_.work(16));
    if (schema->is_boolean()) {
      if (!schema->get<bool>()) draft.shape.types = 0;
      return ok_status();
    }
    if (!schema->is_object()) {
      return document_.error(schema, "expected a schema (an object or a boolean)");
    }
    if (std::ranges::find(within, schema) != within.end()) {
      return document_.error(schema, "$ref: it refers to itself and to nothing else");
    }
    if (std::ranges::find(draft.applied, schema) != draft.applied.end()) return ok_status();
    TRY_OK(budget_.check_depth(within.size(), document_.path_of(schema)));
    draft.applied.push_back(schema);
    within.push_back(schema);
    for (const auto& [keyword, value] : schema->items()) {
      TRY_OK(budget_.work(4));
      if (keyword == "$ref") {
        TRY(const Schema target, document_.resolve(document_.member(schema, keyword)));
        TRY_OK(apply(draft, target, within));
      } else if (keyword == "allOf" || keyword == "anyOf" || keyword == "oneOf") {
        TRY_OK(apply_list(draft, schema, keyword, within));
      } else {
        TRY_OK(apply_keyword(schema, keyword, document_, draft.shape));
      }
    }
    return ok_status();
  }

  // NOLINTNEXTLINE(misc-no-recursion): as above
  Status apply_list(Draft& draft, Schema schema, const std::string& keyword,
                    const std::vector<Schema>& within) {
    const Schema list = document_.member(schema, keyword);
    if (!list->is_array() || list->empty()) {
      return document_.error(list, "expected a list of at least one schema");
    }
    if (keyword != "allOf") {
      draft.choices.push_back({.list = list, .exclusive = keyword == "oneOf", .within = within});
      return ok_status();
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      TRY_OK(apply(draft, document_.element(list, i), within));
    }
    return ok_status();
  }

  SchemaDocument& document_;
  Budget& budget_;
  ShapeExclusion& exclusion_;
};

}  // namespace

Result<std::vector<Shape>> expand(const Schemas& schemas, SchemaDocument& document, Budget& budget,
                                  ShapeExclusion& exclusion) {
  return Expander(document, budget, exclusion).run(schemas);
}

}  // namespace kantha::grammar
