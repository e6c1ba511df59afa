#include "noded/models/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "noded/models/proxy_rules.h"

namespace kantha::noded {
namespace {

using testing::HasSubstr;

std::string parsed(std::string_view text) {
  const Result<Url> url = parse_url(text);
  return url.ok() ? url->to_string() : "error: " + url.error().message;
}

TEST(Url, IsReadAsItIsWritten) {
  EXPECT_EQ(parsed("http://example.com/a/b.gguf"), "http://example.com/a/b.gguf");
  EXPECT_EQ(parsed("https://Example.COM:8443/a?k=v#x"), "https://example.com:8443/a?k=v");
  EXPECT_EQ(parsed("https://example.com:443"), "https://example.com/");
  EXPECT_EQ(parsed("http://[::1]:8000?q"), "http://[::1]:8000/?q");
  EXPECT_EQ(parse_url("http://[::1]:8000")->host, "::1");
}

TEST(Url, IsRefusedByName) {
  EXPECT_THAT(parsed("ftp://example.com/x"), HasSubstr("expected an http or https address"));
  EXPECT_THAT(parsed("http:///x"), HasSubstr("host name"));
  EXPECT_THAT(parsed("http://example.com:0/"), HasSubstr("port in [1, 65535]"));
  EXPECT_THAT(parsed("http://example.com:80x/"), HasSubstr("port in [1, 65535]"));
  EXPECT_THAT(parsed("http://exa mple.com/"), HasSubstr("must be encoded"));
  EXPECT_THAT(parsed("http://a/" + std::string(9000, 'x')), HasSubstr("8192 bytes"));
  EXPECT_THAT(parsed("http://[::1/x"), HasSubstr("expected ]"));
}

TEST(Url, ShowsNeitherPasswordsNorQueries) {
  EXPECT_THAT(parsed("https://me:secret@example.com/x"),
              testing::AllOf(HasSubstr("user name"), testing::Not(HasSubstr("secret"))));
  EXPECT_EQ(parse_url("https://example.com/x?sig=secret")->shown(), "https://example.com/x");
  EXPECT_THAT(parsed("https://exam!ple.com/x?sig=secret"), testing::Not(HasSubstr("secret")));
}

TEST(Url, FollowsEveryFormOfLocation) {
  const Url from = *parse_url("http://a.example/dir/file?q");
  const std::map<std::string, std::string> cases = {
      {"https://b.example/x", "https://b.example/x"},
      {"//b.example/x", "http://b.example/x"},
      {"/x?y", "http://a.example/x?y"},
      {"next", "http://a.example/dir/next"},
      {"?z", "http://a.example/dir/file?z"},
      {"/to?back=http://c.example/", "http://a.example/to?back=http://c.example/"},
  };
  for (const auto& [location, target] : cases) {
    const Result<Url> next = redirected(from, location);
    ASSERT_TRUE(next.ok()) << location << next.error().message;
    EXPECT_EQ(next->to_string(), target);
  }
}

TEST(Url, IsNotRedirectedFromHttpsToHttp) {
  const Result<Url> next = redirected(*parse_url("https://a.example/x"), "http://a.example/x");
  ASSERT_FALSE(next.ok());
  EXPECT_EQ(next.error().code, Code::kPermissionDenied);
  EXPECT_FALSE(redirected(*parse_url("https://a.example/x"), "file:///etc/passwd").ok());
}

ProxyRules rules_of(std::map<std::string, std::string> values) {
  const Result<ProxyRules> rules =
      proxy_rules_from([&](const char* name) -> std::optional<std::string> {
        const auto found = values.find(name);
        return found == values.end() ? std::nullopt : std::optional(found->second);
      });
  EXPECT_TRUE(rules.ok());
  return rules.ok() ? *rules : ProxyRules();
}

std::string proxy_of(const ProxyRules& rules, const char* url) {
  const Proxy* proxy = rules.proxy_for(*parse_url(url));
  return proxy == nullptr ? "direct" : proxy->endpoint.to_string();
}

TEST(ProxyRules, FollowTheEnvironment) {
  const ProxyRules rules = rules_of({{"http_proxy", "http://p.example:3128"},
                                     {"HTTP_PROXY", "http://ignored.example:1"},
                                     {"HTTPS_PROXY", "s.example:3129"}});
  EXPECT_EQ(proxy_of(rules, "http://a.example/"), "p.example:3128");
  EXPECT_EQ(proxy_of(rules, "https://a.example/"), "s.example:3129");
  EXPECT_EQ(proxy_of(rules, "http://127.0.0.1:8/"), "direct");
  EXPECT_EQ(proxy_of(rules, "http://localhost/"), "direct");
  EXPECT_EQ(proxy_of(rules_of({{"ALL_PROXY", "a.example:1"}}), "https://x.example/"),
            "a.example:1");
  EXPECT_EQ(proxy_of(rules_of({}), "https://x.example/"), "direct");
}

TEST(ProxyRules, KeepExceptions) {
  const ProxyRules rules =
      rules_of({{"http_proxy", "p.example:1"},
                {"no_proxy", "Corp.example, .lan,10.0.0.0/8,*.wild.example,port.example:8080"}});
  for (const char* direct :
       {"http://corp.example/", "http://a.corp.example/", "http://x.lan/", "http://10.2.3.4/",
        "http://a.wild.example/", "http://port.example:8080/"}) {
    EXPECT_EQ(proxy_of(rules, direct), "direct") << direct;
  }
  for (const char* proxied : {"http://notcorp.example/", "http://11.0.0.1/", "http://b.example/",
                              "http://port.example/"}) {
    EXPECT_EQ(proxy_of(rules, proxied), "p.example:1") << proxied;
  }
  EXPECT_EQ(
      proxy_of(rules_of({{"http_proxy", "p.example:1"}, {"NO_PROXY", "*"}}), "http://b.example/"),
      "direct");
}

TEST(ProxyRules, TakeAPasswordAndRefuseTls) {
  const ProxyRules rules = rules_of({{"http_proxy", "http://me:secret@p.example:3128"}});
  ASSERT_TRUE(rules.for_http.has_value());
  EXPECT_EQ(rules.for_http->authorization, "Basic bWU6c2VjcmV0");
  const Result<ProxyRules> tls = proxy_rules_from([](const char* name) {
    return std::string_view(name) == "https_proxy" ? std::optional<std::string>("https://p.example")
                                                   : std::nullopt;
  });
  ASSERT_FALSE(tls.ok());
  EXPECT_THAT(tls.error().message, HasSubstr("https_proxy"));
}

}  // namespace
}  // namespace kantha::noded
