#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/fake/api_server/kind.h"

/// Sets of fields of an object, as managedFields name them: leaves, atomic maps and lists as
/// wholes, and the elements of lists of type map or set. Pure.
/// Source: Kubernetes docs, "Server-Side Apply"; the FieldsV1 format.
namespace kantha::fake {

/// Components ("f:spec", "k:{…}", "v:…") each after a separator byte; sorted, so that what lies
/// below a path follows it.
using FieldPath = std::string;
using FieldSet = std::set<FieldPath>;

inline constexpr char kPathSeparator = '\x1f';

/// What differs between two states of an object.
struct FieldDiff {
  FieldSet added;
  FieldSet removed;
  FieldSet modified;
};

/// The fields that an object sets, without the ones that the server owns (name, uid, status of the
/// request's own kind are the caller's to cut out before).
FieldSet fields_of(const Kind& kind, const Json& object);
FieldDiff diff_fields(const Kind& kind, const Json& before, const Json& after);
/// Takes the field (or whole element) out, and the maps and lists that become empty by it.
void remove_field(const Kind& kind, Json& object, const FieldPath& path);
/// True when the set holds the path or something below it.
bool holds_at_or_below(const FieldSet& set, const FieldPath& path);
/// ".spec.containers[name=\"noded\"].image", as conflicts name it.
std::string readable(const FieldPath& path);
/// The nested object of managedFields[].fieldsV1.
Json fields_v1(const FieldSet& set);
std::vector<std::string> components(const FieldPath& path);

}  // namespace kantha::fake
