#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"

/// GET /v1/models. Pure; any thread.
namespace kantha::api {

struct ModelCard {
  std::string id;
  std::int64_t created = 0;  ///< Unix seconds when this server started to serve it
  std::int32_t max_model_len = 0;
};

/// {"id","object":"model","created","owned_by","max_model_len"}
OrderedJson model_json(const ModelCard& card);
/// {"object":"list","data":[card]}
OrderedJson model_list_json(const ModelCard& card);

}  // namespace kantha::api
