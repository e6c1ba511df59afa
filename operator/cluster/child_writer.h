#pragma once

#include <string>

#include "base/json.h"
#include "base/net/task.h"
#include "operator/cluster/pass.h"
#include "operator/kube/resource.h"

/// Brings one child to what its document says, with no write when it already is so. One executor.
///
/// A child that is missing is created by POST, never by apply: an apply would quietly take over an
/// object of somebody else that has the same name. The name's holder is then read, and
///   ours (its controlling owner has our uid) or ownerless with our labels → applied (re-adopted);
///   being deleted, or of an earlier object of our name → waited for;
///   anybody else's → trouble NameConflict, nothing is written.
/// A child that differs is repaired by server-side apply with force, for every field of a document
/// is ours. Where an apply is refused, or is not enough, because of what somebody else left in the
/// object, its whole spec is written (child_reset.h); a Service that must gain or lose its cluster
/// address, which no edit can do, is deleted and made anew. When the same repair is due again
/// within a minute, somebody fights: trouble FieldConflict, and one repair a minute.
namespace kantha::cluster {

struct ChildDocument {
  kube::Resource resource;
  std::string name;
  OrderedJson body;
};

net::Task<void> write_child(Pass& pass, ChildDocument document);

/// Whose an object is that has a child's name. Pure.
enum class Holder : std::uint8_t { kOurs, kAdoptable, kLeaving, kPredecessor, kForeign };
Holder holder_of(const Json& live, const serving::ClusterServing& owner);

/// Reads the object that has the document's name and acts as above: repairs ours when the document
/// is not covered, waits, or reports.
net::Task<void> judge_holder(Pass& pass, ChildDocument document);

/// Applies owner reference and labels to an ownerless child that carries our labels.
net::Task<void> adopt_child(Pass& pass, kube::Resource resource, std::string name,
                            std::string live_uid);

}  // namespace kantha::cluster
