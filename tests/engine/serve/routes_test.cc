#include <algorithm>

#include "engine/serve/routes.h"

#include <gtest/gtest.h>

#include "tests/engine/serve/served.h"
#include "tests/fake/byte_vocabulary.h"

namespace kantha::serve {
namespace {

TEST(Routes, ModelsAreListedAndFoundByName) {
  Served served;
  const Json list = Json::parse(served.call("GET", "/v1/models").body);
  EXPECT_EQ(list["object"], "list");
  EXPECT_EQ(list["data"][0]["id"], "m");
  EXPECT_EQ(list["data"][0]["max_model_len"], 512);
  EXPECT_EQ(Json::parse(served.call("GET", "/v1/models/m").body)["id"], "m");
  EXPECT_EQ(Json::parse(served.call("GET", "/v1/models/%6d").body)["id"], "m");
  const auto other = served.call("GET", "/v1/models/other");
  EXPECT_EQ(other.status, 404);
  EXPECT_EQ(error_key(other, "code"), "model_not_found");
}

TEST(Routes, UnknownPathsAndAliasesAre404WithAnErrorObject) {  // report B156
  Served served;
  for (const char* path :
       {"/", "/nothing", "//v1/models", "/v1/models/", "/V1/models", "/v1/../v1/models",
        "/v1/chat/completions/", "/%761/models", "/v1/models%2f", "/health/"}) {
    SCOPED_TRACE(path);
    const auto response = served.call("GET", path);
    EXPECT_EQ(response.status, 404);
    EXPECT_NE(error_key(response, "message"), "null");
  }
}

TEST(Routes, WrongMethodsAre405WithAllow) {
  Served served;
  const auto get = served.call("GET", "/v1/chat/completions");
  EXPECT_EQ(get.status, 405);
  EXPECT_EQ(get.headers.find("allow"), "POST");
  EXPECT_EQ(error_key(get, "code"), "method_not_allowed");
  const auto post = served.call("POST", "/health", "{}");
  EXPECT_EQ(post.status, 405);
  EXPECT_EQ(post.headers.find("allow"), "GET, HEAD");
  EXPECT_EQ(served.call("OPTIONS", "/v1/models").status, 405);
}

TEST(Routes, HeadIsGetWithoutTheBody) {
  Served served;
  const auto response = served.call("HEAD", "/v1/models");
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.body.empty());
}

TEST(Routes, UnknownModelIs404BeforeAnyWork) {
  Served served;
  for (const auto& [path, body] :
       {std::pair("/v1/chat/completions", chat({{"model", "other"}})),
        std::pair("/v1/completions", completion({{"model", "other"}})),
        std::pair("/tokenize", Json{{"model", "other"}, {"prompt", "x"}})}) {
    const auto response = served.post(path, body);
    EXPECT_EQ(response.status, 404);
    EXPECT_EQ(error_key(response, "code"), "model_not_found");
    EXPECT_EQ(error_key(response, "param"), "model");
  }
  EXPECT_TRUE(served.engine().submitted().empty());
}

TEST(Routes, AnyContentTypeIsAcceptedAndBrokenJsonIs400) {  // report B022
  Served served;
  const std::string body = completion().dump();
  for (const char* type :
       {"", "text/plain", "application/json; charset=utf-8", "APPLICATION/JSON"}) {
    net::Headers headers;
    if (*type != '\0') headers.set("Content-Type", type);
    EXPECT_EQ(served.call("POST", "/v1/completions", body, headers).status, 200) << type;
  }
  for (const char* broken :
       {"", "{", "[]", "nonsense", R"({"prompt":"a"} x)", R"({"a":1,"a":2})"}) {
    const auto response = served.call("POST", "/v1/completions", broken);
    EXPECT_EQ(response.status, 400) << broken;
    EXPECT_EQ(error_key(response, "type"), "invalid_request_error");
  }
}

TEST(Routes, HalfSurrogatesAre400AndNulIsKept) {  // report B020
  Served served;
  const auto ask = [&](const char* content) {
    return served.call(
        "POST", "/v1/chat/completions",
        std::string(R"({"messages":[{"role":"user","content":")") + content + R"("}]})");
  };
  EXPECT_EQ(ask(R"(cut \uD83E)").status, 400);
  EXPECT_EQ(ask(R"(\uDC00\uD800)").status, 400);
  EXPECT_EQ(ask(R"(a\u0000b)").status, 200);
  const auto specs = served.engine().submitted();
  ASSERT_EQ(specs.size(), 1u);
  EXPECT_NE(std::ranges::find(specs[0].prompt, 0), specs[0].prompt.end());
}

TEST(Routes, TokenizeAndDetokenizeAreInverse) {
  Served served;
  const Json tokens = Json::parse(served.post("/tokenize", {{"prompt", "hé"}}).body);
  EXPECT_EQ(tokens["tokens"], Json({0x68, 0xc3, 0xa9}));
  EXPECT_EQ(tokens["count"], 3);
  EXPECT_EQ(tokens["max_model_len"], 512);
  const auto text = served.post("/detokenize", {{"tokens", tokens["tokens"]}});
  EXPECT_EQ(Json::parse(text.body)["prompt"], "hé");
  EXPECT_EQ(served.post("/detokenize", {{"tokens", {259}}}).status, 400);
}

TEST(Routes, TokenizeRendersConversations) {
  Served served;
  const auto response = served.post("/tokenize", chat());
  std::vector<TokenId> expected{fake::kTurnStart};
  for (const TokenId id : fake::byte_tokens("user\nhi")) expected.push_back(id);
  expected.push_back(fake::kTurnEnd);
  expected.push_back('\n');
  expected.push_back(fake::kTurnStart);
  for (const TokenId id : fake::byte_tokens("assistant\n")) expected.push_back(id);
  EXPECT_EQ(Json::parse(response.body)["tokens"], Json(expected));
}

TEST(Routes, WhatAUserTypesIsNeverATurnBoundary) {
  Served served;
  const Json messages = Json::array({{{"role", "user"}, {"content", "<|im_end|>"}}});
  const Json body = Json::parse(served.post("/tokenize", {{"messages", messages}}).body);
  int ends = 0;
  for (const Json& id : body["tokens"]) ends += id == fake::kTurnEnd ? 1 : 0;
  EXPECT_EQ(ends, 1);
}

TEST(Routes, LargeBodiesAreReadToo) {
  Served served({.context_max = 500'000});
  const auto response = served.post("/tokenize", {{"prompt", std::string(200'000, 'a')}});
  EXPECT_EQ(Json::parse(response.body)["count"], 200'000);
}

TEST(Routes, AdminIsForTheUnixSocketOnly) {
  Served served({.unix_socket = true});
  EXPECT_EQ(served.call("GET", "/admin/v1/state").status, 403);
  const auto state = served.call_at(served.unix_endpoint(), "GET", "/admin/v1/state");
  ASSERT_EQ(state.status, 200);
  const Json body = Json::parse(state.body);
  EXPECT_EQ(body["phase"], "ready");
  EXPECT_EQ(body["model"], "m");
  EXPECT_EQ(body["config_hash"], "abc");
  EXPECT_EQ(body["kv"]["blocks_total"], 100);
}

TEST(Routes, AdminOnTcpNeedsTheExactToken) {  // report B156
  Served served({.admin_token = "secret"});
  const auto status = [&](net::Headers headers) {
    return served.call("GET", "/admin/v1/state", {}, std::move(headers)).status;
  };
  EXPECT_EQ(status({}), 401);
  EXPECT_EQ(status({{"Authorization", "Bearer secreT"}}), 401);
  EXPECT_EQ(status({{"Authorization", "Bearer secret2"}}), 401);
  EXPECT_EQ(status({{"Authorization", "bearer secret"}}), 401);
  EXPECT_EQ(status({{"Authorization", "secret"}}), 401);
  EXPECT_EQ(status({{"Authorization", "Bearer secret"}, {"Authorization", "Bearer secret"}}), 401);
  EXPECT_EQ(status({{"Authorization", "Bearer secret"}}), 200);
}

TEST(Routes, EveryAnswerIsCountedByRouteAndStatus) {
  Served served;
  served.call("GET", "/v1/models");
  served.call("GET", "/nothing");
  served.post("/v1/completions", {{"prompt", 3}});
  const char* name = "kantha_http_requests_total";
  EXPECT_EQ(served.metric(name, R"(route="/v1/models")"), 1);
  EXPECT_EQ(served.metric(name, R"(code="404")"), 1);
  EXPECT_EQ(served.metric(name, R"(code="400")"), 1);
}

}  // namespace
}  // namespace kantha::serve
