#include "tests/fake/api_server/partial_metadata.h"

#include "base/json.h"

namespace kantha::fake {

void keep_metadata(const net::HttpRequest& request, net::HttpResponse& answer) {
  const auto accept = request.headers.find("Accept");
  if (!accept || !accept->starts_with("application/json;as=PartialObjectMetadata;")) return;
  const Result<Json> whole = parse_json(answer.body);
  if (answer.status / 100 != 2 || !whole.ok() || !whole->contains("metadata")) return;
  answer.body = dump_json(Json{{"apiVersion", "meta.k8s.io/v1"},
                               {"kind", "PartialObjectMetadata"},
                               {"metadata", whole->at("metadata")}});
}

}  // namespace kantha::fake
