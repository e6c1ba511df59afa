#include "tests/fake/api_server/api_refusal.h"

#include <fmt/format.h>

namespace kantha::fake {
namespace {

Json details_of(const Kind& kind, const std::string& name) {
  Json details = {{"kind", kind.plural}};
  if (!name.empty()) details["name"] = name;
  if (!kind.group.empty()) details["group"] = kind.group;
  return details;
}

}  // namespace

Json status_object(const Refusal& refusal) {
  Json status = {{"kind", "Status"},    {"apiVersion", "v1"},         {"metadata", Json::object()},
                 {"status", "Failure"}, {"message", refusal.message}, {"reason", refusal.reason},
                 {"code", refusal.code}};
  if (refusal.reason.empty()) status.erase("reason");
  if (!refusal.details.is_null()) status["details"] = refusal.details;
  return status;
}

net::HttpResponse json_answer(int status, const Json& body) {
  return {status, {{"Content-Type", "application/json"}}, dump_json(body)};
}

net::HttpResponse refusal_answer(const Refusal& refusal) {
  net::HttpResponse answer = json_answer(refusal.code, status_object(refusal));
  if (refusal.retry_after > 0) {
    answer.headers.set("Retry-After", std::to_string(refusal.retry_after));
  }
  return answer;
}

Refusal not_found_refusal(const Kind& kind, const std::string& name) {
  return {404, "NotFound", fmt::format("{} \"{}\" not found", kind.qualified(), name),
          details_of(kind, name)};
}

Refusal already_exists(const Kind& kind, const std::string& name) {
  return {409, "AlreadyExists", fmt::format("{} \"{}\" already exists", kind.qualified(), name),
          details_of(kind, name)};
}

Refusal conflict(const Kind& kind, const std::string& name, const std::string& why) {
  return {
      409, "Conflict",
      fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", kind.qualified(), name, why),
      details_of(kind, name)};
}

Refusal precondition_failed(const Kind& kind, const std::string& name, const std::string& why) {
  Kind named = kind;
  named.plural = kind.kind;
  return conflict(named, name, why);
}

Refusal stale_version(const Kind& kind, const std::string& name) {
  return conflict(kind, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

Refusal bad_request(std::string message) { return {400, "BadRequest", std::move(message)}; }

Refusal invalid(const Kind& kind, const std::string& name, const std::vector<Cause>& causes) {
  Json details = {{"kind", kind.kind}, {"causes", Json::array()}};
  if (!name.empty()) details["name"] = name;
  if (!kind.group.empty()) details["group"] = kind.group;
  std::string all;
  for (const Cause& cause : causes) {
    all += (all.empty() ? "" : ", ") + cause.field + ": " + cause.message;
    details["causes"].push_back(
        {{"reason", cause.reason}, {"message", cause.message}, {"field", cause.field}});
  }
  if (causes.size() > 1) all = "[" + all + "]";
  std::string kind_name = kind.kind;
  if (!kind.group.empty()) kind_name += "." + kind.group;
  return {422, "Invalid", fmt::format("{} \"{}\" is invalid: {}", kind_name, name, all), details};
}

Refusal forbidden(const Kind& kind, const std::string& name, const std::string& why) {
  const std::string subject = name.empty()
                                  ? kind.qualified() + " is forbidden"
                                  : fmt::format("{} \"{}\" is forbidden", kind.qualified(), name);
  return {403, "Forbidden", subject + ": " + why, details_of(kind, name)};
}

Refusal namespace_terminating(const Kind& kind, const std::string& name,
                              const std::string& name_space) {
  Refusal refusal = forbidden(
      kind, name,
      fmt::format("unable to create new content in namespace {} because it is being terminated",
                  name_space));
  refusal.details["causes"] = {
      {{"reason", "NamespaceTerminating"},
       {"message", fmt::format("namespace {} is being terminated", name_space)},
       {"field", "metadata.namespace"}}};
  return refusal;
}

Refusal expired(std::string message) { return {410, "Expired", std::move(message)}; }

Refusal too_large_version(std::int64_t wanted, std::int64_t current) {
  Refusal refusal{504, "Timeout",
                  fmt::format("Too large resource version: {}, current: {}", wanted, current)};
  refusal.details = {
      {"causes",
       {{{"reason", "ResourceVersionTooLarge"}, {"message", "Too large resource version"}}}},
      {"retryAfterSeconds", 1}};
  refusal.retry_after = 1;
  return refusal;
}

Refusal throttled(int retry_after) {
  return {429, "TooManyRequests", "too many requests, please try again later",
          Json{{"retryAfterSeconds", retry_after}}, retry_after};
}

}  // namespace kantha::fake
