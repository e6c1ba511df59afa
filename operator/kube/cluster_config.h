#pragma once

#include <string>

#include "base/result.h"

/// Where the API server is and who we are there, from a kubeconfig or from the pod we run in.
/// Reads files; any thread. Source: Kubernetes docs, "Organizing Cluster Access Using kubeconfig
/// Files" and "Accessing the Kubernetes API from a Pod".
namespace kantha::kube {

/// Certificates and tokens are kept as paths where they are files, so that they can be re-read;
/// inline data of a kubeconfig is kept as text. Never logged.
struct ClusterConfig {
  std::string server;           ///< "https://10.96.0.1:443"; http only for loopback
  std::string tls_server_name;  ///< empty: the server's host
  std::string ca_file;
  std::string ca_data;  ///< PEM
  std::string client_certificate_file;
  std::string client_certificate_data;  ///< PEM
  std::string client_key_file;
  std::string client_key_data;  ///< PEM
  std::string token_file;
  std::string token;
  bool insecure_skip_tls_verify = false;
  std::string name_space = "default";  ///< of the context, or of the pod
  std::string source;                  ///< what it came from, for messages
};

/// Reads one kubeconfig; `context` empty means its current-context. kNotFound: no such file;
/// kInvalidArgument names file and key (unknown context, no server, exec plugins, auth providers).
Result<ClusterConfig> cluster_config_from_kubeconfig(const std::string& path,
                                                     const std::string& context = {});

/// From KUBERNETES_SERVICE_HOST/PORT and the files under /var/run/secrets/kubernetes.io.
Result<ClusterConfig> in_cluster_config(const std::string& root = {});

/// What kubectl would use: the flag, else $KUBECONFIG (its first file that exists), else
/// in-cluster, else ~/.kube/config. kNotFound lists what was tried.
Result<ClusterConfig> find_cluster_config(const std::string& kubeconfig_flag,
                                          const std::string& context = {});

}  // namespace kantha::kube
