#include "operator/kube/cluster_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/whole_file.h"
#include "operator/kube/server_url.h"
#include "tests/base/net/loopback.h"

namespace kantha::kube {
namespace {

using testing::HasSubstr;

const std::string kKubeconfig = R"(apiVersion: v1
kind: Config
preferences: {}
current-context: b
clusters:
- name: one
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority: pki/ca.crt
    extensions: [{name: x, extension: {y: z}}]
- name: two
  cluster:
    server: https://api.example.com/k8s
    certificate-authority-data: Q0E=
    tls-server-name: kubernetes
- name: bare
  cluster: {server: "http://127.0.0.1:8080", certificate-authority: null}
users:
- name: files
  user: {client-certificate: /abs/tls.crt, client-key: tls.key}
- name: data
  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}
- name: token
  user: {token: secret, tokenFile: ../token}
contexts:
- name: a
  context: {cluster: one, user: files}
- name: b
  context: {cluster: two, user: data, namespace: prod}
- name: c
  context: {cluster: one, user: token}
- name: nobody
  context: {cluster: bare}
)";

class ClusterConfigTest : public testing::Test {
 protected:
  ClusterConfigTest() : path_(dir_.file("config")) {
    for (const char* name : {"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"}) {
      ::unsetenv(name);
    }
    ::setenv("HOME", dir_.file("home").c_str(), 1);
  }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    ASSERT_TRUE(replace_whole_file(path, text).ok());
  }
  std::string failure_of(const std::string& text, const std::string& context = {}) {
    write(path_, text);
    const auto config = cluster_config_from_kubeconfig(path_, context);
    return config.ok() ? "no failure" : config.error().to_string();
  }

  net::TempDir dir_;
  std::string path_;
};

TEST_F(ClusterConfigTest, ReadsTheCurrentContextOrTheOneNamed) {
  write(path_, kKubeconfig);
  const auto b = cluster_config_from_kubeconfig(path_);
  ASSERT_TRUE(b.ok()) << b.error().to_string();
  EXPECT_EQ(b->server, "https://api.example.com/k8s");
  EXPECT_EQ(b->ca_data, "CA");
  EXPECT_EQ(b->tls_server_name, "kubernetes");
  EXPECT_EQ(b->client_certificate_data, "CERT");
  EXPECT_EQ(b->client_key_data, "KEY");
  EXPECT_EQ(b->name_space, "prod");
  EXPECT_EQ(b->source, path_);
  const auto a = cluster_config_from_kubeconfig(path_, "a");
  ASSERT_TRUE(a.ok()) << a.error().to_string();
  EXPECT_EQ(a->ca_file, dir_.file("pki/ca.crt")) << "relative to the file's folder";
  EXPECT_EQ(a->client_certificate_file, "/abs/tls.crt");
  EXPECT_EQ(a->client_key_file, dir_.file("tls.key"));
  EXPECT_EQ(a->name_space, "default");
  const auto c = cluster_config_from_kubeconfig(path_, "c");
  ASSERT_TRUE(c.ok());
  EXPECT_EQ(c->token, "secret");
  EXPECT_EQ(c->token_file, dir_.file("../token"));
  const auto nobody = cluster_config_from_kubeconfig(path_, "nobody");
  ASSERT_TRUE(nobody.ok()) << nobody.error().to_string();
  EXPECT_EQ(nobody->ca_file, "");
}

TEST_F(ClusterConfigTest, NamesTheFileAndTheKeyAtFault) {
  const auto with = [](std::string from, const std::string& to) {
    std::string text = kKubeconfig;
    const auto at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return text.replace(at, from.size(), to);
  };
  const struct {
    std::string text;
    const char* context;
    std::vector<const char*> says;
  } cases[] = {
      {kKubeconfig, "d", {"there is no context named \"d\"", "contexts"}},
      {with("current-context: b", "current-context: \"\""), "", {"current-context"}},
      {with("cluster: two", "cluster: three"), "", {"no cluster named \"three\""}},
      {with("user: data", "user: nobody"), "", {"no user named \"nobody\""}},
      {with("server: https://api.example.com/k8s", "server: ''"),
       "",
       {"missing", "clusters[1].cluster.server"}},
      {with("server: https://api", "server: http://api"), "", {"only loopback"}},
      {with("server: https://api", "server: api"), "", {"no scheme"}},
      {with("Q0E=", "Q0E"), "", {"clusters[1].cluster.certificate-authority-data"}},
      {with("tls-server-name: kubernetes", "insecure-skip-tls-verify: true"),
       "",
       {"insecure-skip-tls-verify", "certificate authority"}},
      {with("tls-server-name: kubernetes", "proxy-url: http://x"),
       "",
       {"unimplemented", "proxies", "clusters[1].cluster.proxy-url"}},
      {with("client-key-data: S0VZ", "exec: {command: aws}"),
       "",
       {"unimplemented", "exec plugins", "users[1].user.exec"}},
      {with("client-key-data: S0VZ", "auth-provider: {name: gcp}"),
       "",
       {"unimplemented", "auth providers", "users[1].user.auth-provider"}},
      {with("client-key-data: S0VZ", "as: root"), "", {"impersonation"}},
      {with("client-key-data: S0VZ", "username: a"), "", {"passwords"}},
      {with(", client-key-data: S0VZ", ""), "", {"missing", "users[1].user.client-key"}},
      {with("client-certificate-data: Q0VSVA==, ", ""),
       "",
       {"missing", "users[1].user.client-certificate"}},
      {"a: [", "", {":2", "not valid YAML"}},
      {"a: 1\na: 2\n", "", {":2", "twice"}},
      {"", "", {"expected one document"}},
      {"[]", "", {"an object"}},
      {"current-context: a\ncontexts: 7\n", "", {"contexts"}},
  };
  for (const auto& each : cases) {
    const std::string failure = failure_of(each.text, each.context);
    EXPECT_THAT(failure, HasSubstr(path_));
    for (const char* part : each.says) EXPECT_THAT(failure, HasSubstr(part));
  }
}

TEST_F(ClusterConfigTest, InAPodUsesItsServiceAccount) {
  EXPECT_EQ(in_cluster_config(dir_.file("")).error().code, Code::kNotFound);
  ::setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1", 1);
  ::setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  const std::string root = dir_.file("root");
  EXPECT_EQ(in_cluster_config(root).error().code, Code::kNotFound) << "no files are mounted";
  const std::string folder = root + "/var/run/secrets/kubernetes.io/serviceaccount";
  write(folder + "/ca.crt", "CA");
  write(folder + "/token", "T");
  EXPECT_EQ(in_cluster_config(root)->name_space, "default");
  write(folder + "/namespace", "kantha-system\n");
  const auto config = in_cluster_config(root);
  ASSERT_TRUE(config.ok()) << config.error().to_string();
  EXPECT_EQ(config->server, "https://10.96.0.1:443");
  EXPECT_EQ(config->token_file, folder + "/token");
  EXPECT_EQ(config->ca_file, folder + "/ca.crt");
  EXPECT_EQ(config->name_space, "kantha-system");
  ::setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
  EXPECT_EQ(in_cluster_config(root)->server, "https://[fd00::1]:443");
}

TEST_F(ClusterConfigTest, LooksWhereKubectlLooks) {
  const auto nothing = find_cluster_config("");
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().code, Code::kNotFound);
  for (const char* place : {"$KUBECONFIG is not set", "not in a pod", "/.kube/config"}) {
    EXPECT_THAT(nothing.error().message, HasSubstr(place));
  }
  write(dir_.file("home") + "/.kube/config", kKubeconfig);
  EXPECT_EQ(find_cluster_config("")->source, dir_.file("home") + "/.kube/config");
  write(path_, kKubeconfig);
  ::setenv("KUBECONFIG", (dir_.file("absent") + "::" + path_).c_str(), 1);
  EXPECT_EQ(find_cluster_config("", "a")->source, path_) << "its first file that exists";
  EXPECT_EQ(find_cluster_config(dir_.file("flag")).error().code, Code::kNotFound)
      << "a flag is not passed over";
  write(path_, "a: [");
  EXPECT_EQ(find_cluster_config("").error().code, Code::kInvalidArgument)
      << "nor is a file that is broken";
}

TEST(ServerUrl, TakesAddressesApart) {
  const struct {
    const char* text;
    const char* endpoint;
    const char* path;
    bool is_tls;
  } good[] = {
      {"https://10.0.0.1:6443", "10.0.0.1:6443", "", true},
      {"https://api.example.com", "api.example.com:443", "", true},
      {"https://api.example.com/", "api.example.com:443", "", true},
      {"https://h:1/k8s/c-1/", "h:1", "/k8s/c-1", true},
      {"https://[fd00::1]", "[fd00::1]:443", "", true},
      {"https://[fd00::1]:6443/x", "[fd00::1]:6443", "/x", true},
      {"http://localhost:8001", "localhost:8001", "", false},
      {"http://[::1]", "[::1]:80", "", false},
  };
  for (const auto& each : good) {
    const auto url = parse_server_url(each.text);
    ASSERT_TRUE(url.ok()) << each.text << ": " << url.error().to_string();
    EXPECT_EQ(url->endpoint.to_string(), each.endpoint);
    EXPECT_EQ(url->path, each.path);
    EXPECT_EQ(url->is_tls, each.is_tls);
  }
  for (const char* text : {"", "https://", "10.0.0.1:6443", "ftp://x", "https://h:x", "https://h:0",
                           "https://h:70000", "http://10.0.0.1", "https://u@h", "https://h/a b",
                           "https://h/?q", "https://unix:/x", "https://[::1"}) {
    EXPECT_FALSE(parse_server_url(text).ok()) << text;
  }
}

}  // namespace
}  // namespace kantha::kube
