#include "operator/cluster/guarded_client.h"

#include <utility>

#include "base/json_text.h"

namespace kantha::cluster {

GuardedClient::GuardedClient(const Clock& clock, kube::ApiClient& client, MetricRegistry& metrics,
                             Seams seams)
    : clock_(clock), client_(client), metrics_(metrics), seams_(std::move(seams)) {}

Status GuardedClient::check_leading() const {
  if (seams_.is_leading()) return ok_status();
  return Error{Code::kFailedPrecondition, "this operator does not lead", {}, kNotLeading};
}

Status GuardedClient::admit(kube::Resource resource, const char* verb) {
  TRY_OK(check_leading());
  ++write_count_;
  Counter*& series = series_[{resource.plural, verb}];
  if (series == nullptr) {
    series = &metrics_.counter("kantha_operator_writes_total", "Writes to the API server",
                               {{"resource", std::string(resource.plural)}, {"verb", verb}});
  }
  series->add();
  return ok_status();
}

void GuardedClient::note(const kube::ObjectKey& owner, kube::Resource resource,
                         const Json& answer) {
  const kube::ObjectKey key{text_at(answer, "metadata", "namespace"),
                            text_at(answer, "metadata", "name")};
  if (key.name.empty() || !seams_.will_show(resource.plural, key.name_space, &answer)) return;
  runtime::WriteGate* gate = seams_.gate(key.name_space);
  if (gate == nullptr) return;
  gate->wrote(owner,
              {resource.plural, key, text_at(answer, "metadata", "uid"),
               text_at(answer, "metadata", "resourceVersion")},
              clock_.now());
  // The event of a write may overtake its answer.
  if (const auto held = seams_.held(resource.plural, key)) {
    gate->seen(resource.plural, key, held->uid, held->resource_version, held->is_deleting);
  }
}

net::Task<Result<Json>> GuardedClient::get(kube::Resource resource, kube::ObjectKey key) {
  CO_TRY_OK(check_leading());
  co_return co_await client_.get(resource, std::move(key));
}

net::Task<Result<kube::ObjectPage>> GuardedClient::list(kube::Resource resource,
                                                        std::string name_space,
                                                        kube::ListOptions options) {
  CO_TRY_OK(check_leading());
  co_return co_await client_.list(resource, std::move(name_space), std::move(options));
}

net::Task<Result<Json>> GuardedClient::create(kube::ObjectKey owner, kube::Resource resource,
                                              std::string name_space, std::string body) {
  CO_TRY_OK(admit(resource, "create"));
  Result<Json> answer = co_await client_.create(resource, std::move(name_space), std::move(body),
                                                kube::Content::kMetadata);
  if (answer.ok()) note(owner, resource, *answer);
  co_return answer;
}

net::Task<Result<Json>> GuardedClient::patch(kube::ObjectKey owner, kube::Resource resource,
                                             kube::ObjectKey key, std::string body,
                                             kube::PatchOptions options, kube::Content content) {
  CO_TRY_OK(admit(resource, options.subresource.empty() ? "patch" : "patch_status"));
  options.answer = content;
  Result<Json> answer =
      co_await client_.patch(resource, std::move(key), std::move(body), std::move(options));
  if (answer.ok()) note(owner, resource, *answer);
  co_return answer;
}

net::Task<Status> GuardedClient::remove(kube::ObjectKey owner, kube::Resource resource,
                                        kube::ObjectKey key, kube::DeleteOptions options) {
  CO_TRY_OK(admit(resource, "delete"));
  const std::string uid = options.uid;
  const Status done = co_await client_.remove(resource, key, std::move(options));
  runtime::WriteGate* gate = seams_.gate(key.name_space);
  if (!done.ok() || gate == nullptr) co_return done;
  if (!seams_.will_show(resource.plural, key.name_space, nullptr)) co_return done;
  gate->wrote(owner, {resource.plural, key, uid, {}, true}, clock_.now());
  const auto held = seams_.held(resource.plural, key);
  gate->seen(resource.plural, key, held ? held->uid : "", held ? held->resource_version : "",
             held && held->is_deleting);
  co_return done;
}

}  // namespace kantha::cluster
