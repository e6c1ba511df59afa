#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "operator/serving/cluster_object.h"
#include "operator/serving/cluster_revision.h"
#include "operator/serving/pod_object.h"

/// Bringing an engine image to nodes before any pod there is told to run it: a short-lived pod for
/// each node, bound to it, that starts the image once and ends. What became of it is all that is
/// remembered: a node has an image while one of its pods shows that. Pure; any thread.
///
/// Such a pod asks for next to no processor and memory and for no accelerator, mounts nothing, runs
/// as restricted Pod Security wants it and is not of the pods that Services, budgets and scales
/// select. What its program does in the short time that it has does not matter.
namespace kantha::serving {

/// A pod that pulls an image, as it was last seen.
struct ImagePull {
  std::string pod;
  std::string uid;
  std::string node;
  std::string image;  ///< that it was made with
  bool pulled = false;
  std::string image_id = {};  ///< of what was pulled, as the kubelet spells it
  /// What the kubelet says of an image that it cannot have; empty: it tries, or has it.
  std::string failure = {};
  bool terminating = false;
  bool operator==(const ImagePull&) const = default;
};

/// Whether this pod was made to pull an image for `owner`.
bool is_image_pull(const ClusterServing& owner, const PodObject& pod);

ImagePull image_pull_of(const PodObject& pod, WallTime now);

/// "NAME-pull-xxxxxxxxxx": of a node and an image.
std::string image_pull_name(std::string_view name, const std::string& node,
                            const std::string& image);

/// The document to POST. The spec must be valid.
OrderedJson render_image_pull(const ClusterServing& owner, const ClusterSettings& settings,
                              const std::string& node, const std::string& image);

/// An image by the digest that a kubelet reports of it: "r/engine@sha256:…" for "r/engine:2". Empty
/// where it is by digest already, or the report is of no image of that repository (one that was
/// loaded onto the node has none): then the tag is told to everybody, as it was given.
std::string image_by_digest(std::string_view image, std::string_view image_id);

}  // namespace kantha::serving
