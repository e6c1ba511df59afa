#include "operator/kube/cluster_config.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "base/json_fields.h"
#include "base/whole_file.h"
#include "base/yaml_document.h"
#include "operator/kube/server_url.h"

namespace kantha::kube {
namespace {

constexpr YamlLimits kKubeconfigLimits = {.bytes_max = 4u << 20, .nodes_max = 200'000};
constexpr std::size_t kEntriesMax = 10'000;
constexpr std::size_t kNamespaceBytesMax = 256;
constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Reads one kubeconfig whose text is parsed already.
class KubeconfigReader {
 public:
  KubeconfigReader(const Json& root, const std::string& path)
      : root_(root, ""), folder_(std::filesystem::path(path).parent_path()) {}

  Result<ClusterConfig> read(std::string context) const {
    TRY_OK(root_.check_object());
    if (context.empty()) {
      TRY(auto current, root_.string("current-context"));
      context = current.value_or("");
    }
    if (context.empty()) return invalid_argument("no context is named", "current-context");
    TRY(const JsonFields chosen, entry("contexts", context, "context"));
    TRY(const auto cluster, chosen.string("cluster"));
    TRY(const auto user, chosen.string("user"));
    TRY(const auto name_space, chosen.string("namespace"));
    ClusterConfig out;
    if (name_space && !name_space->empty()) out.name_space = *name_space;
    TRY(const JsonFields place, entry("clusters", cluster.value_or(""), "cluster"));
    TRY_OK(read_cluster(place, out));
    // A context without a user is anonymous.
    if (user && !user->empty()) {
      TRY(const JsonFields identity, entry("users", *user, "user"));
      TRY_OK(read_user(identity, out));
    }
    return out;
  }

 private:
  /// The value of `list[?].name == name`, which stands under `kind`.
  Result<JsonFields> entry(std::string_view list, const std::string& name,
                           std::string_view kind) const {
    TRY(const Json* entries, root_.array(list, kEntriesMax));
    for (std::size_t i = 0; entries != nullptr && i < entries->size(); ++i) {
      const JsonFields fields((*entries)[i], std::string(list) + "[" + std::to_string(i) + "]");
      TRY_OK(fields.check_object());
      TRY(const auto found, fields.string("name"));
      if (found.value_or("") != name) continue;
      TRY(auto value, fields.object(kind));
      if (!value) return invalid_argument("missing", fields.path_of(kind));
      return *value;
    }
    return invalid_argument("there is no " + std::string(kind) + " named \"" + name + "\"",
                            std::string(list));
  }

  /// A path as the file has it; relative ones start at the file's folder.
  Status read_path(const JsonFields& fields, std::string_view name, std::string& out) const {
    TRY(const auto path, fields.string(name));
    if (path && !path->empty()) out = (folder_ / *path).string();
    return ok_status();
  }

  static Status read_data(const JsonFields& fields, std::string_view name, std::string& out) {
    TRY(const auto text, fields.string(name));
    if (!text || text->empty()) return ok_status();
    Result<std::string> bytes = decode_base64(*text);
    if (!bytes) return invalid_argument(bytes.error().message, fields.path_of(name));
    out = std::move(bytes).value();
    return ok_status();
  }

  /// What would change whom we talk to, or as whom, is refused and not passed over.
  static Status refuse(const JsonFields& fields, std::string_view name, std::string_view why) {
    if (fields.find(name) == nullptr) return ok_status();
    return unimplemented(std::string(why), fields.path_of(name));
  }

  Status read_cluster(const JsonFields& fields, ClusterConfig& out) const {
    TRY_OK(refuse(fields, "proxy-url", "proxies are not supported"));
    TRY(const auto server, fields.string("server"));
    if (!server || server->empty()) return invalid_argument("missing", fields.path_of("server"));
    out.server = *server;
    TRY(const auto name, fields.string("tls-server-name"));
    out.tls_server_name = name.value_or("");
    TRY(const auto insecure, fields.boolean("insecure-skip-tls-verify"));
    out.insecure_skip_tls_verify = insecure.value_or(false);
    TRY_OK(read_path(fields, "certificate-authority", out.ca_file));
    TRY_OK(read_data(fields, "certificate-authority-data", out.ca_data));
    const bool has_ca = !out.ca_file.empty() || !out.ca_data.empty();
    if (out.insecure_skip_tls_verify && has_ca) {
      return invalid_argument("cannot be set beside a certificate authority",
                              fields.path_of("insecure-skip-tls-verify"));
    }
    return ok_status();
  }

  Status read_user(const JsonFields& fields, ClusterConfig& out) const {
    TRY_OK(refuse(fields, "exec",
                  "exec plugins are not run; use a client certificate, token or tokenFile"));
    TRY_OK(
        refuse(fields, "auth-provider",
               "auth providers are not supported; use a client certificate, token or tokenFile"));
    TRY_OK(refuse(fields, "username", "passwords are not supported by Kubernetes any more"));
    TRY_OK(refuse(fields, "as", "impersonation is not supported"));
    TRY_OK(read_path(fields, "client-certificate", out.client_certificate_file));
    TRY_OK(read_data(fields, "client-certificate-data", out.client_certificate_data));
    TRY_OK(read_path(fields, "client-key", out.client_key_file));
    TRY_OK(read_data(fields, "client-key-data", out.client_key_data));
    TRY_OK(read_path(fields, "tokenFile", out.token_file));
    TRY(const auto token, fields.string("token"));
    out.token = token.value_or("");
    const bool has_certificate =
        !out.client_certificate_file.empty() || !out.client_certificate_data.empty();
    const bool has_key = !out.client_key_file.empty() || !out.client_key_data.empty();
    if (has_certificate == has_key) return ok_status();
    return invalid_argument("missing",
                            fields.path_of(has_key ? "client-certificate" : "client-key"));
  }

  JsonFields root_;
  std::filesystem::path folder_;
};

Error with_file(Error error, const std::string& path) {
  return std::move(error).with_context(path);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

/// The files of $KUBECONFIG, in order.
std::vector<std::string> kubeconfig_list(const std::string& list) {
  std::vector<std::string> paths;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(':', at), list.size());
    if (end > at) paths.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return paths;
}

}  // namespace

Result<ClusterConfig> cluster_config_from_kubeconfig(const std::string& path,
                                                     const std::string& context) {
  TRY(const std::string text, read_whole_file(path, kKubeconfigLimits.bytes_max));
  const YamlText yaml = read_yaml(text, kKubeconfigLimits);
  if (!yaml.problems.empty()) {
    const YamlProblem& first = yaml.problems.front();
    return with_file(invalid_argument(first.problem.message, first.problem.path),
                     path + ":" + std::to_string(first.line));
  }
  if (yaml.documents.size() != 1) {
    return with_file(
        invalid_argument("expected one document, got " + std::to_string(yaml.documents.size())),
        path);
  }
  Result<ClusterConfig> config = KubeconfigReader(yaml.documents.front().root, path).read(context);
  if (!config) return with_file(std::move(config).error(), path);
  if (const auto url = parse_server_url(config->server); !url) return with_file(url.error(), path);
  config->source = path;
  return config;
}

Result<ClusterConfig> in_cluster_config(const std::string& root) {
  const std::string host = environment("KUBERNETES_SERVICE_HOST");
  const std::string port = environment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return not_found("not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are unset");
  }
  const std::string folder = root + kServiceAccount;
  ClusterConfig out;
  out.server = "https://" + (host.contains(':') ? "[" + host + "]" : host) + ":" + port;
  out.ca_file = folder + "/ca.crt";
  out.token_file = folder + "/token";
  out.source = "the pod's service account";
  for (const std::string& path : {out.ca_file, out.token_file}) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) continue;
    return not_found("in a pod without a mounted service account: no file " + path);
  }
  if (const auto url = parse_server_url(out.server); !url) return url.error();
  if (auto name = read_whole_file(folder + "/namespace", kNamespaceBytesMax)) {
    while (name->ends_with('\n') || name->ends_with(' ')) name->pop_back();
    if (!name->empty()) out.name_space = *name;
  }
  return out;
}

Result<ClusterConfig> find_cluster_config(const std::string& kubeconfig_flag,
                                          const std::string& context) {
  if (!kubeconfig_flag.empty()) return cluster_config_from_kubeconfig(kubeconfig_flag, context);
  std::string tried;
  const auto note = [&tried](const std::string& what) {
    tried += (tried.empty() ? "" : "; ") + what;
  };
  const std::vector<std::string> listed = kubeconfig_list(environment("KUBECONFIG"));
  if (listed.empty()) note("$KUBECONFIG is not set");
  for (const std::string& path : listed) {
    Result<ClusterConfig> config = cluster_config_from_kubeconfig(path, context);
    if (config || config.error().code != Code::kNotFound) return config;
    note("$KUBECONFIG: " + config.error().message);
  }
  // A context is the name of something in a file.
  if (context.empty()) {
    Result<ClusterConfig> config = in_cluster_config();
    if (config || config.error().code != Code::kNotFound) return config;
    note(config.error().message);
  }
  const std::string home = environment("HOME");
  if (!home.empty()) {
    Result<ClusterConfig> config = cluster_config_from_kubeconfig(home + "/.kube/config", context);
    if (config || config.error().code != Code::kNotFound) return config;
    note(config.error().message);
  }
  return not_found("no cluster configuration: " + tried);
}

}  // namespace kantha::kube
