#include "noded/fleet/hot_prompts.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "base/json.h"

namespace kantha::noded {
namespace {

constexpr const char* kTenantHeader = "x-kantha-tenant";

/// What decides which tokens a prompt becomes, and whose blocks they are.
constexpr std::initializer_list<const char*> kKept = {"model",
                                                      "messages",
                                                      "prompt",
                                                      "tools",
                                                      "tool_choice",
                                                      "chat_template_kwargs",
                                                      "cache_salt",
                                                      "add_generation_prompt",
                                                      "add_special_tokens",
                                                      "continue_final_message",
                                                      "priority"};

}  // namespace

double HotPrompts::heat(const Prompt& prompt, TimePoint now) const {
  const double half_lives = std::chrono::duration<double>(now - prompt.at) /
                            std::chrono::duration<double>(policy_.half_life);
  return prompt.heat * std::exp2(-std::max(half_lives, 0.0));
}

void HotPrompts::note(const net::HttpRequest& request, TimePoint now) {
  if (request.method != "POST" || request.body.size() > policy_.body_bytes_max) return;
  const std::string_view tenant = request.headers.find(kTenantHeader).value_or("");
  const auto key = prompt_key(request.path(), request.body, tenant, policy_.key);
  if (!key) return;
  const auto found = std::find_if(prompts_.begin(), prompts_.end(),
                                  [&](const Prompt& prompt) { return prompt.key == *key; });
  if (found != prompts_.end()) {
    found->heat = heat(*found, now) + 1;
    found->at = now;
    return;
  }
  Prompt fresh{*key, 1, now, {request.method, request.target, {}, request.body}};
  if (!tenant.empty()) fresh.request.headers.set(kTenantHeader, std::string(tenant));
  if (prompts_.size() < policy_.prompts_max) {
    prompts_.push_back(std::move(fresh));
    return;
  }
  const auto coldest = std::min_element(
      prompts_.begin(), prompts_.end(),
      [&](const Prompt& a, const Prompt& b) { return heat(a, now) < heat(b, now); });
  if (heat(*coldest, now) <= 1) *coldest = std::move(fresh);
}

std::vector<net::HttpRequest> HotPrompts::hottest(std::size_t count_max, TimePoint now) const {
  std::vector<std::pair<double, const Prompt*>> order;
  for (const Prompt& prompt : prompts_) {
    const double now_hot = heat(prompt, now);
    if (now_hot >= policy_.heat_min) order.emplace_back(now_hot, &prompt);
  }
  // Of equal ones the one that is known longer.
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<net::HttpRequest> out;
  for (const auto& [now_hot, prompt] : order) {
    if (out.size() == count_max) break;
    if (auto request = warming_request(prompt->request)) out.push_back(*std::move(request));
  }
  return out;
}

std::optional<net::HttpRequest> warming_request(const net::HttpRequest& request) {
  const Result<OrderedJson> asked = parse_ordered_json(request.body);
  if (!asked.ok() || !asked->is_object()) return std::nullopt;
  OrderedJson body = OrderedJson::object();
  for (const char* name : kKept) {
    if (asked->contains(name)) body[name] = (*asked)[name];
  }
  const auto vendor = asked->find("kantha");
  if (vendor != asked->end() && vendor->is_object() && vendor->contains("tenant")) {
    body["kantha"] = {{"tenant", (*vendor)["tenant"]}};
  }
  body["max_tokens"] = 1;
  body["temperature"] = 0;
  net::HttpRequest out{request.method, request.target, request.headers, dump_json(body)};
  out.headers.set("Content-Type", "application/json");
  return out;
}

}  // namespace kantha::noded
