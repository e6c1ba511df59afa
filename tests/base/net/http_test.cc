#include "base/net/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kantha::net {
namespace {

TEST(Headers, FindWithoutCaseAndKeepTheirOrder) {
  Headers headers = {{"A", "1"}, {"b", "2"}, {"a", "3"}};
  EXPECT_EQ(headers.find("a"), "1");
  EXPECT_EQ(headers.find("B"), "2");
  EXPECT_EQ(headers.find("c"), std::nullopt);
  headers.set("B", "4");
  headers.add("b", "5");
  EXPECT_EQ(headers.all().size(), 4u);
  EXPECT_EQ(headers.find("b"), "4");
  headers.remove("A");
  EXPECT_EQ(headers.all().size(), 2u);
}

TEST(HttpRequest, CutsItsTarget) {
  struct Case {
    const char* target;
    const char* path;
    const char* query;
  };
  for (const Case& c :
       {Case{"/a/b?c=d?e", "/a/b", "c=d?e"}, Case{"/", "/", ""}, Case{"*", "*", ""},
        Case{"/a?", "/a", ""}, Case{"http://h:1/p?q", "/p", "q"}, Case{"HTTP://h", "/", ""}}) {
    const HttpRequest request = {.target = c.target};
    EXPECT_EQ(request.path(), c.path);
    EXPECT_EQ(request.query(), c.query);
  }
}

TEST(ReasonPhrase, KnowsTheUsualOnes) {
  EXPECT_EQ(reason_phrase(431), "Request Header Fields Too Large");
  EXPECT_EQ(reason_phrase(299), "Unknown");
}

TEST(Endpoint, ReadsEveryFormAndSpellsItBack) {
  struct Case {
    const char* text;
    const char* spelled;
  };
  for (const Case& c :
       {Case{"127.0.0.1:8000", "127.0.0.1:8000"}, Case{"[::1]:80", "[::1]:80"},
        Case{"http://127.0.0.1:8000", "127.0.0.1:8000"}, Case{"http://localhost:1/", "localhost:1"},
        Case{"unix:/run/x.sock", "unix:/run/x.sock"}, Case{"h:0", "h:0"},
        Case{"*:8000", "*:8000"}}) {
    const Result<Endpoint> endpoint = parse_endpoint(c.text);
    ASSERT_TRUE(endpoint.ok()) << c.text;
    EXPECT_EQ(endpoint->to_string(), c.spelled);
  }
}

TEST(Endpoint, ShowsTheTextThatItCannotRead) {
  for (const std::string text : {"",
                                 ":",
                                 "host",
                                 ":80",
                                 "h:",
                                 "h:65536",
                                 "h:-1",
                                 "h:8x",
                                 "h h:1",
                                 "::1:80",
                                 "[::1]",
                                 "[]:1",
                                 "[xyz]:1",
                                 "*",
                                 "*a:1",
                                 "**:1",
                                 "unix:",
                                 "https://h:443",
                                 "http://h:80/path",
                                 "h\n:1",
                                 "h:+1"}) {
    const Result<Endpoint> endpoint = parse_endpoint(text);
    ASSERT_FALSE(endpoint.ok()) << text;
    EXPECT_EQ(endpoint.error().code, Code::kInvalidArgument);
    EXPECT_THAT(endpoint.error().message, testing::HasSubstr("\"" + text + "\""));
  }
}

}  // namespace
}  // namespace kantha::net
