#include "operator/metricsapi/delegated_auth.h"

#include "base/digest.h"
#include "base/json_text.h"

namespace kantha::metricsapi {
namespace {

constexpr kube::Resource kTokenReviews{"authentication.k8s.io", "v1", "tokenreviews", "TokenReview",
                                       false};
constexpr kube::Resource kAccessReviews{"authorization.k8s.io", "v1", "subjectaccessreviews",
                                        "SubjectAccessReview", false};
constexpr Duration kKeptFor = std::chrono::seconds(10);
constexpr std::size_t kKeptMax = 4096;
constexpr std::size_t kTokenBytesMax = 16u << 10;

std::string bearer_token_of(const net::HttpRequest& request) {
  const auto header = request.headers.find("Authorization");
  constexpr std::string_view kScheme = "Bearer ";
  if (!header || !header->starts_with(kScheme)) return {};
  return std::string(header->substr(kScheme.size()));
}

/// What an authenticated TokenReview says of its token's owner.
std::optional<User> user_of_review(const Json& review) {
  const auto status = review.find("status");
  if (status == review.end() || !status->is_object()) return std::nullopt;
  const auto is_good = status->find("authenticated");
  if (is_good == status->end() || *is_good != true) return std::nullopt;
  const auto user = status->find("user");
  User out;
  if (user == status->end() || (out.name = text_at(*user, "username")).empty()) return std::nullopt;
  out.uid = text_at(*user, "uid");
  const auto texts = [](const Json& list) {
    std::vector<std::string> found;
    if (!list.is_array()) return found;
    for (const Json& entry : list) {
      if (entry.is_string()) found.push_back(entry.get<std::string>());
    }
    return found;
  };
  if (user->contains("groups")) out.groups = texts((*user)["groups"]);
  if (user->contains("extra") && (*user)["extra"].is_object()) {
    for (const auto& [key, values] : (*user)["extra"].items()) out.extra[key] = texts(values);
  }
  return out;
}

Json access_spec(const User& user, const ApiQuery& query) {
  Json spec = {{"user", user.name}, {"groups", user.groups}};
  if (!user.uid.empty()) spec["uid"] = user.uid;
  for (const auto& [key, values] : user.extra) spec["extra"][key] = values;
  if (!query.is_metric()) {
    spec["nonResourceAttributes"] = {{"path", query.path}, {"verb", "get"}};
    return spec;
  }
  if (query.is_external()) {
    // The API server names a request of a collection "list", and what stands there the resource.
    spec["resourceAttributes"] = {{"namespace", query.name_space},
                                  {"verb", "list"},
                                  {"group", kExternalGroup},
                                  {"version", query.version},
                                  {"resource", query.metric}};
    return spec;
  }
  spec["resourceAttributes"] = {{"namespace", query.name_space},
                                {"verb", "get"},
                                {"group", kMetricsGroup},
                                {"version", query.version},
                                {"resource", query.resource},
                                {"subresource", query.metric},
                                {"name", query.name}};
  return spec;
}

}  // namespace

void DelegatedAuth::set_config(AuthConfig config) {
  if (config == config_) return;
  config_ = std::move(config);
}

template <class T>
std::optional<T> DelegatedAuth::cached(Cache<T>& cache, const std::string& key) {
  const auto found = cache.find(key);
  if (found == cache.end()) return std::nullopt;
  if (clock_.now() - found->second.first < kKeptFor) return found->second.second;
  cache.erase(found);
  return std::nullopt;
}

template <class T>
void DelegatedAuth::keep(Cache<T>& cache, const std::string& key, T value) {
  if (cache.size() >= kKeptMax) cache.clear();
  cache.insert_or_assign(key, std::pair(clock_.now(), std::move(value)));
}

net::Task<Result<Json>> DelegatedAuth::review(kube::Resource resource, Json spec) {
  ++review_count_;
  const Json document = {{"apiVersion", resource.api_version()},
                         {"kind", std::string(resource.kind)},
                         {"spec", std::move(spec)}};
  const std::string body = dump_json(document);
  Result<Json> answer = co_await client_.create(resource, "", body);
  if (!answer.ok())
    co_return unavailable("the API server gave no review: " + answer.error().message);
  co_return answer;
}

net::Task<Result<User>> DelegatedAuth::authenticate(net::HttpRequest request,
                                                    std::optional<std::string> peer) {
  if (auto user = user_from_headers(config_, request.headers, peer)) co_return *user;
  const std::string token = bearer_token_of(request);
  if (token.empty() || token.size() > kTokenBytesMax) {
    co_return Error{Code::kUnauthenticated, "expected a bearer token, or the front proxy"};
  }
  const std::string key = sha256_hex(token);
  std::optional<std::optional<User>> known = cached(tokens_, key);
  if (!known) {
    Json spec = {{"token", token}};
    Result<Json> review_answer = co_await review(kTokenReviews, std::move(spec));
    if (!review_answer.ok()) co_return std::move(review_answer).error();
    known = user_of_review(*review_answer);
    keep(tokens_, key, *known);
  }
  if (!*known) co_return Error{Code::kUnauthenticated, "the token is not good"};
  co_return **known;
}

net::Task<Status> DelegatedAuth::authorize(User user, ApiQuery query) {
  // As every API server does: this group is above all rules.
  if (user.in_group("system:masters")) co_return ok_status();
  Json spec = access_spec(user, query);
  const std::string key = sha256_hex(dump_json(spec));
  std::optional<std::string> verdict = cached(verdicts_, key);
  if (!verdict) {
    Result<Json> answer = co_await review(kAccessReviews, std::move(spec));
    if (!answer.ok()) co_return std::move(answer).error();
    const Json status = answer->value("status", Json::object());
    const bool allowed = status.is_object() && status.value("allowed", Json()) == true &&
                         status.value("denied", Json()) != true;
    std::string reason = text_at(status, "reason");
    verdict = allowed ? std::string() : reason.empty() ? "no rule allows it" : reason;
    keep(verdicts_, key, *verdict);
  }
  if (verdict->empty()) co_return ok_status();
  const std::string what =
      query.is_external() ? query.metric + "." + query.group + " in namespace " + query.name_space
      : query.is_metric()
          ? query.resource + "/" + query.metric + " in namespace " + query.name_space
          : query.path;
  co_return Error{Code::kPermissionDenied,
                  "user \"" + user.name + "\" may not get " + what + ": " + *verdict};
}

}  // namespace kantha::metricsapi
