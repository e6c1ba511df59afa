#pragma once

#include "operator/serving/types.h"

/// The rules of a ModelServing beyond its types: ranges, names, and fields that exclude one
/// another. One place for files, the local world and the cluster's operator. Pure; any thread.
///
/// Rules on counts: replicas 0 is legal and stops everything. autoscaling needs maxReplicas, both
/// ends at least 1 (pods at zero have no load to scale on) and min <= max; equal ends are legal.
/// With autoscaling, replicas is the number to begin with and lies between the ends, or is 0.
namespace kantha::serving {

/// Every broken rule, in the order of the fields; empty when the object can be served.
Problems validate(const ModelServing& serving);

/// An RFC 1123 label: 1 to 63 of a-z, 0-9 and '-', beginning and ending with a letter or digit.
/// Gives what is wrong, or an empty string.
std::string label_problem(std::string_view text);

}  // namespace kantha::serving
