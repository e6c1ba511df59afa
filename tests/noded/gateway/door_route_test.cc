#include "noded/gateway/door_route.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "noded/gateway/door_path.h"

namespace kantha::noded {
namespace {

struct Spelling {
  const char* target;
  DoorPage page;
  bool open;
};

constexpr DoorPage kNone = DoorPage::kNone;

/// Every way to write a path that reached some server's guard and router differently.
const std::vector<Spelling> kSpellings = {
    // The list itself.
    {"/live", DoorPage::kLive, true},
    {"/health", DoorPage::kHealth, true},
    {"/ready", DoorPage::kHealth, true},
    {"/startup", DoorPage::kStartup, true},
    {"/version", DoorPage::kVersion, true},
    {"/metrics", DoorPage::kMetrics, false},
    {"/v1/models", DoorPage::kForward, false},
    {"/v1/chat/completions", DoorPage::kGenerate, false},
    {"/v1/completions", DoorPage::kGenerate, false},
    {"/v1/embeddings", DoorPage::kGenerate, false},
    {"/v1/responses", DoorPage::kGenerate, false},
    {"/v1/messages", DoorPage::kGenerate, false},
    {"/v1/messages?beta=true", DoorPage::kGenerate, false},
    {"/v1/messages/count_tokens", DoorPage::kForward, false},
    {"/api/chat", DoorPage::kGenerate, false},
    {"/api/generate", DoorPage::kGenerate, false},
    {"/api/show", DoorPage::kForward, false},
    {"/api/tags", DoorPage::kForward, false},
    {"/api/version", DoorPage::kForward, false},
    {"/infill", DoorPage::kGenerate, false},
    {"/tokenizer_info", DoorPage::kForward, false},
    {"/tokenize", DoorPage::kForward, false},
    {"/detokenize", DoorPage::kForward, false},
    {"/v1/models/smollm2", DoorPage::kForward, false},
    // Queries and the form that proxies send are the same path.
    {"/live?verbose=1", DoorPage::kLive, true},
    {"/health?", DoorPage::kHealth, true},
    {"/metrics?x=/live", DoorPage::kMetrics, false},
    {"/v1/models?a=b&c=//..", DoorPage::kForward, false},
    {"http://pod:8000/v1/models", DoorPage::kForward, false},
    {"HTTP://pod/live", DoorPage::kLive, true},
    {"http://[::1]:8000/metrics", DoorPage::kMetrics, false},
    // A model's id may hold a slash, plain or escaped, and what a path may hold.
    {"/v1/models/org/model", DoorPage::kForward, false},
    {"/v1/models/org%2Fmodel", DoorPage::kForward, false},
    {"/v1/models/a:b@c+d,e;f=g", DoorPage::kForward, false},
    {"/v1/models/with%20blank", DoorPage::kForward, false},
    {"/v1/models/%C3%A9", DoorPage::kForward, false},
    // Empty segments.
    {"/", kNone, false},
    {"//", kNone, false},
    {"//live", kNone, false},
    {"///health", kNone, false},
    {"//v1/completions", kNone, false},
    {"/v1//completions", kNone, false},
    {"/v1/completions/", kNone, false},
    {"/live/", kNone, false},
    {"/v1/models/", kNone, false},
    {"/v1/models//x", kNone, false},
    {"/v1/models/x/", kNone, false},
    {"/v1", kNone, false},
    {"/v1/", kNone, false},
    // Dot segments.
    {"/.", kNone, false},
    {"/..", kNone, false},
    {"/./live", kNone, false},
    {"/live/.", kNone, false},
    {"/live/../metrics", kNone, false},
    {"/v1/../metrics", kNone, false},
    {"/v1/../live", kNone, false},
    {"/../live", kNone, false},
    {"/v1/./models", kNone, false},
    {"/v1/models/..", kNone, false},
    {"/v1/models/../../admin/v1/state", kNone, false},
    {"/live/../../admin/v1/shutdown", kNone, false},
    {"/live;/../metrics", kNone, false},
    // Escapes.
    {"/%6cive", kNone, false},
    {"/%4Cive", kNone, false},
    {"/liv%65", kNone, false},
    {"/%761/completions", kNone, false},
    {"/v1%2Fcompletions", kNone, false},
    {"/v1%2fmodels", kNone, false},
    {"%2Flive", kNone, false},
    {"/%2Flive", kNone, false},
    {"/%2e%2e/live", kNone, false},
    {"/v1/%2e%2e/metrics", kNone, false},
    {"/v1/.%2e/metrics", kNone, false},
    {"/live%2f..%2fmetrics", kNone, false},
    {"/v1/models/%2e%2e/%2e%2e/metrics", kNone, false},
    {"/v1/models/..%2F..%2Fmetrics", kNone, false},
    {"/v1/models/x%2F..%2F..%2Fmetrics", kNone, false},
    {"/v1/models/%2Fx", kNone, false},
    {"/v1/models/x%2F", kNone, false},
    {"/v1/models/%252e%252e", kNone, false},
    {"/v1/models/%25", kNone, false},
    {"/v1/models/%00", kNone, false},
    {"/v1/models/x%0d%0aHost:y", kNone, false},
    {"/v1/models/..%5c..%5cmetrics", kNone, false},
    {"/v1/models/a%5Cb", kNone, false},
    {"/v1/models/%7f", kNone, false},
    {"/v1/models/%", kNone, false},
    {"/v1/models/%2", kNone, false},
    {"/v1/models/%zz", kNone, false},
    {"/live%00", kNone, false},
    {"/live%20", kNone, false},
    {"/live%3F", kNone, false},
    {"/metrics%23", kNone, false},
    // Characters that a path does not have.
    {"/live#", kNone, false},
    {"/live#/metrics", kNone, false},
    {"/live\\..\\metrics", kNone, false},
    {"\\live", kNone, false},
    {"/v1/models/a|b", kNone, false},
    {"/v1/models/<x>", kNone, false},
    {"/live;x=1", kNone, false},
    {"/live,", kNone, false},
    // Letters of another case, and things beside the list.
    {"/LIVE", kNone, false},
    {"/V1/models", kNone, false},
    {"/v1/Chat/Completions", kNone, false},
    {"/livez", kNone, false},
    {"/metrics/engine", kNone, false},
    {"/health/live", kNone, false},
    {"/admin/v1/state", kNone, false},
    {"/admin/v1/drain", kNone, false},
    {"/v1/modelsx", kNone, false},
    // Other forms of targets.
    {"*", kNone, false},
    {"", kNone, false},
    {"live", kNone, false},
    {"?/live", kNone, false},
    {"http://", kNone, false},
    {"http:///live", kNone, false},
    {"http://pod", kNone, false},
    {"http://pod?/live", kNone, false},
    {"http://pod#/live", kNone, false},
    {"http://user@pod/live", kNone, false},
    {"http://pod%2Fmetrics/live", kNone, false},
    {"http://pod//live", kNone, false},
    {"http://pod/v1/../live", kNone, false},
    {"https://pod/live", kNone, false},
    {"http:/live", kNone, false},
    {"pod:8000", kNone, false},
};

TEST(DoorRoute, EverySpellingLeadsWhereTheListSaysAndOnlyTheProbesAreOpen) {
  ASSERT_GE(kSpellings.size(), 100U);
  for (const Spelling& spelling : kSpellings) {
    const DoorRoute route = door_route(spelling.target);
    EXPECT_EQ(route.page, spelling.page) << spelling.target;
    EXPECT_EQ(route.open, spelling.open) << spelling.target;
  }
}

TEST(DoorRoute, AnEscapedOrDottedVariantOfARouteIsNoRoute) {
  // Whatever one letter is replaced with, the result is the listed path or nothing.
  for (const Spelling& spelling : kSpellings) {
    const std::string target = spelling.target;
    if (spelling.page == kNone || target.find_first_of("?%:") != std::string::npos) continue;
    for (std::size_t i = 1; i < target.size(); ++i) {
      char escaped[4];
      std::snprintf(escaped, sizeof escaped, "%%%02x", static_cast<unsigned>(target[i]));
      const std::string changed = target.substr(0, i) + escaped + target.substr(i + 1);
      if (target.starts_with("/v1/models/") && target[i] == '/' && i > 11) continue;
      if (std::string_view("@+,;=").find(target[i]) != std::string_view::npos) continue;
      EXPECT_EQ(door_route(changed).page, kNone) << changed;
      const std::string dotted = target.substr(0, i) + "/./" + target.substr(i);
      EXPECT_EQ(door_route(dotted).page, kNone) << dotted;
    }
  }
}

TEST(DoorRoute, MethodsAreThoseOfTheRoute) {
  struct Case {
    const char* target;
    const char* method;
    bool allowed;
  };
  const std::vector<Case> cases = {{"/live", "GET", true},
                                   {"/live", "HEAD", true},
                                   {"/live", "POST", false},
                                   {"/live", "OPTIONS", false},
                                   {"/live", "get", false},
                                   {"/v1/models", "GET", true},
                                   {"/v1/models", "HEAD", true},
                                   {"/v1/models", "DELETE", false},
                                   {"/v1/completions", "POST", true},
                                   {"/v1/completions", "GET", false},
                                   {"/v1/completions", "PUT", false},
                                   {"/v1/completions", "TRACE", false},
                                   {"/tokenize", "POST", true},
                                   {"/tokenize", "HEAD", false}};
  for (const Case& c : cases) {
    EXPECT_EQ(allows(door_route(c.target), c.method), c.allowed) << c.method << ' ' << c.target;
  }
}

TEST(DoorPath, WhatIsSentOnHasNoAuthority) {
  EXPECT_EQ(origin_form("/v1/models?x=1"), "/v1/models?x=1");
  EXPECT_EQ(origin_form("http://pod:8000/v1/models?x=1"), "/v1/models?x=1");
  EXPECT_EQ(origin_form("HTTP://pod"), "/");
}

}  // namespace
}  // namespace kantha::noded
