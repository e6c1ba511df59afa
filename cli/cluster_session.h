#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace CLI {
class App;
}

/// ModelServings of a Kubernetes cluster, for verbs. Main thread; each call blocks for at most half
/// a minute.
namespace kantha::cli {

/// Which cluster, and where in it.
struct ClusterFlags {
  std::string kubeconfig;
  std::string context;
  std::string name_space;
  bool all_namespaces = false;

  /// The user asked for a cluster, whatever runs here.
  bool given() const {
    return !kubeconfig.empty() || !context.empty() || !name_space.empty() || all_namespaces;
  }
};

/// Puts --kubeconfig, --context and -n/--namespace into a verb; `with_all` adds -A.
void add_cluster_flags(CLI::App& verb, ClusterFlags& flags, bool with_all = false);

/// One object as it was read, with what belongs to it.
struct ClusterReading {
  Json object;
  std::vector<Json> pods;    ///< that carry its label
  std::vector<Json> events;  ///< about the object and its pods, oldest first; may be incomplete
};

class ClusterSession {
 public:
  /// kNotFound: no kubeconfig, with what was tried; kInvalidArgument: what is wrong in it.
  static Result<std::unique_ptr<ClusterSession>> open(const ClusterFlags& flags);
  ~ClusterSession();

  /// The namespace that is looked into; empty: all.
  const std::string& name_space() const;
  /// "https://10.0.0.1:6443 (kubeconfig a, namespace b)", for messages.
  std::string description() const;

  /// Objects without pods, ordered as the server does.
  Result<std::vector<Json>> list();
  /// kNotFound names what was looked for and where.
  Result<ClusterReading> read(const std::string& name, bool with_events);
  /// Sets spec.replicas through the scale subresource.
  Status scale(const std::string& name, std::int64_t replicas);
  /// A merge patch of the object.
  Status patch(const std::string& name, const Json& body);

 private:
  struct Body;
  explicit ClusterSession(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace kantha::cli
