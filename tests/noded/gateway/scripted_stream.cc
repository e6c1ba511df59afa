#include "tests/noded/gateway/scripted_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/net/sse.h"

namespace kantha::noded {
namespace {

struct Stretch {
  const char* text;
  std::vector<TokenId> ids;
};

/// Texts that look like the frame around them, and tokens that waited for others.
const std::vector<Stretch> kStretches = {
    {"Once ", {5}},
    {"\"up\\on\"\n\n", {6, 70'000}},
    {R"(,"kantha":{"token_ids":[1],"seed":2}})", {8}},
    {"data: [DONE]", {0}},
    {R"("finish_reason":"stop"}])", {11, 12}},
    {"é\xF0\x9F\x90\xA6", {3}},
};
const std::vector<TokenId> kEnd = {2};

/// The same text as reasoning, the beginning of a call, or more of its arguments.
api::Delta call_delta(const Stretch& stretch) {
  const auto place = &stretch - kStretches.data();
  if (place == 0) return {.reasoning = stretch.text};
  dialect::CallDelta call{.arguments = stretch.text};
  if (place == 1) {
    call.id = "call_1";
    call.name = "f";
  }
  return {.calls = {std::move(call)}};
}

/// What logprobs' text_offset counts for those tokens: the texts that events() gives them.
std::int64_t characters_of(std::span<const TokenId> tokens) {
  std::int64_t characters = 0;
  for (const TokenId token : tokens) {
    characters += static_cast<std::int64_t>(std::to_string(token).size());
  }
  return characters;
}

}  // namespace

std::vector<std::string> ScriptedStream::events(std::span<const TokenId> resumed) const {
  api::ReplyHead head;
  head.api = api;
  head.id = id;
  head.created = id == "chatcmpl-first" ? 1'000 : 2'000;
  head.model = R"(m","choices":[)";
  head.fingerprint = "fp-" + id;
  api::StreamWriter writer(head, {.logprobs = logprobs,
                                  .token_ids = token_ids,
                                  .include_usage = usage,
                                  .text_offset = characters_of(resumed),
                                  .seed = seed,
                                  .prompt_tokens = kScriptedPrompt});
  std::vector<std::string> events;
  const auto add = [&](const std::string& json) { events.push_back(net::sse_data(json)); };
  if (api == api::ApiKind::kChat && resumed.empty()) add(writer.role(0));
  std::size_t skip = resumed.size();
  for (const Stretch& stretch : kStretches) {
    if (skip > 0) {
      EXPECT_TRUE(std::ranges::equal(
          stretch.ids,
          resumed.subspan(resumed.size() - skip).first(std::min(skip, stretch.ids.size()))));
      skip -= std::min(skip, stretch.ids.size());
      continue;
    }
    api::Delta delta = calls ? call_delta(stretch) : api::Delta{.text = stretch.text};
    delta.token_ids = stretch.ids;
    for (const TokenId token : stretch.ids) {
      api::ScoredToken scored;
      scored.chosen = {std::to_string(token), -1.0 / (token + 1)};
      delta.scores.push_back(scored);
    }
    add(writer.delta(delta));
  }
  add(writer.finish(0, calls ? "tool_calls" : "stop", skip > 0 ? std::vector<TokenId>{} : kEnd));
  if (usage)
    add(writer.usage({.prompt_tokens = kScriptedPrompt, .completion_tokens = kScriptedTokens}));
  events.push_back(net::sse_data("[DONE]"));
  return events;
}

std::string ScriptedStream::bytes(std::span<const TokenId> resumed) const {
  std::string text;
  for (const std::string& event : events(resumed)) text += event;
  return text;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string as_first(const std::string& text) {
  if (text.find("-first") != text.npos) return text;
  return replaced(replaced(text, "chatcmpl-next", "chatcmpl-first"), "2000", "1000");
}

std::vector<TokenId> resumed_ids(const std::string& body) {
  const auto json = parse_json(body);
  EXPECT_TRUE(json.ok()) << body;
  if (!json.ok() || !json->contains("kantha")) return {};
  const Json& vendor = (*json)["kantha"];
  if (!vendor.contains("resume")) return {};
  return vendor["resume"]["token_ids"].get<std::vector<TokenId>>();
}

std::vector<std::string> ScriptedStream::answer(const std::string& body) const {
  const std::vector<TokenId> resumed = resumed_ids(body);
  const auto json = parse_json(body);
  if (!resumed.empty() && json.ok()) EXPECT_EQ((*json)["seed"], seed) << body;
  return events(resumed);
}

}  // namespace kantha::noded
