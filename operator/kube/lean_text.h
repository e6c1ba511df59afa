#pragma once

#include <span>
#include <string>
#include <string_view>

/// JSON of the API server without what nobody here reads. Pure; any thread.
namespace kantha::kube {

/// `text` with every member "managedFields" emptied to []: who wrote which field is up to half of
/// an object, and parsing it costs as much as the rest. Anything that does not look like such a
/// member stays as it is, and so does malformed text, for the parser to refuse. `room` holds the
/// result when something was cut; the view is of it or of `text`.
std::string_view without_managed_fields(std::string_view text, std::string& room);

/// Names of members, of static storage.
using MemberNames = std::span<const std::string_view>;

/// The same, and lists and objects of members with these names are emptied as well, wherever they
/// stand; strings, numbers and the like of such names stay. No name is longer than 63 bytes.
std::string_view without_members(std::string_view text, MemberNames names, std::string& room);

}  // namespace kantha::kube
