#include "engine/api/model_list.h"

namespace kantha::api {

OrderedJson model_json(const ModelCard& card) {
  OrderedJson json;
  json["id"] = card.id;
  json["object"] = "model";
  json["created"] = card.created;
  json["owned_by"] = "kantha";
  json["max_model_len"] = card.max_model_len;
  return json;
}

OrderedJson model_list_json(const ModelCard& card) {
  OrderedJson json;
  json["object"] = "list";
  json["data"] = OrderedJson::array();
  json["data"].push_back(model_json(card));
  return json;
}

}  // namespace kantha::api
